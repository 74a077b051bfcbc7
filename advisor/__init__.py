"""What Mountwright knows: options, facts, rules and models. Pure: no input, output, clock or chance."""
