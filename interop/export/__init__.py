"""Export: trajectories and tasks as files that trainers load. One file here is one format; FORMATS lists them."""
