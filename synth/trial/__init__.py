"""The trial of a blueprint: its tables are drawn, people live with its tools, and what is wrong goes to its author."""
