"""Facts about the client, the link and the server, observed without root and without accessing a mount."""
