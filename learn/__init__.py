"""Skills and agents that improve by rollouts: skill documents that are trained, and models that explore."""
