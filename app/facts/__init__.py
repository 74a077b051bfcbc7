"""Facts: what can be observed of the client, the link and the server before anything is advised."""
