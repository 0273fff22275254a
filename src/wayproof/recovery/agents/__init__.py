"""What is measured: the policy protocol, the reference controls, and ways to bring an agent.

This package's own module imports nothing, so that a policy can be written against
:mod:`wayproof.recovery.agents.policy` without loading the rest.
"""
