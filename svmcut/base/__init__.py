"""Base: errors, messages, typing, records and resources that every room uses."""
