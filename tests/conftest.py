from hypothesis import HealthCheck, settings

# Compiled code makes first calls slow and the rest fast: no deadline, and the same examples on every run.
settings.register_profile(
    "pairsmith", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.load_profile("pairsmith")
