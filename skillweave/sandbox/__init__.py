"""Where generated code runs: no network, no writes outside its folder, bounded memory, time, files and output."""
