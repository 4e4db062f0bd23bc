"""The JSON that goes in and out, a module for each part of the API.

These shapes are a contract: fields are added, never changed. Requests refuse what they do not know and convert nothing
(`"5"` is no number); every shape has an example, and tests hold the examples to the shapes.
"""
