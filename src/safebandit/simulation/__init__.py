"""Many trials of policies on instances: run on threads or a cluster, collected, summed up, kept and drawn."""
