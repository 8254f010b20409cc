"""When a request may be sent: the limits, pauses and outages of endpoints. It knows nothing of what is sent."""
