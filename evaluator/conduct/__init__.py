"""How an agent has to behave: asking before it acts, acting on the word of the user, and for nobody else."""
