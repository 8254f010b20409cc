"""What is shown in a terminal: safe whatever others wrote, with colours or without."""
