"""What runs inside the sandbox. It is started by path, so it uses the standard library and relative imports only."""
