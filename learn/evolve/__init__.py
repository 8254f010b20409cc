"""Evolving an agent: train, explore, keep what is rewarded, train anew."""
