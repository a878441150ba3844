"""Spark's jobs for programs that keep a session of their own, as the demo does."""

from spark_analytics.jobs.measure import measure
from spark_analytics.jobs.plans import plans
from spark_analytics.jobs.session import local_session

__all__ = ["local_session", "measure", "plans"]
