"""Stores that released versions wrote, small ones, each with what it answered then.

A folder a version: `log.db`, and `answers.json` from each path that was asked to the answer that came.
"""
