"""Which made call stands for which golden one."""
