"""Client of the root helper: started through polkit, with its refusals and mount errors explained."""
