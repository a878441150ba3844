"""What is read from the report of JUnit's console."""

from __future__ import annotations

from pathlib import Path

from tests.kafka_suites.console import Outcome, Report, read_report

_XML = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="JUnit Jupiter" tests="4" skipped="1" failures="1" errors="1" time="9.8">
<properties><property name="user.dir" value="/"/></properties>
<testcase name="testFetchSegments()[1]" classname="org.apache.kafka.RemoteLogMetadataManagerTest" time="4.011">
<system-out><![CDATA[unique-id: ...]]></system-out>
</testcase>
<testcase name="testCacheListSegments()[2]" classname="org.apache.kafka.RemoteLogSegmentLifecycleTest" time="1.5">
<failure message="Could not build it.&#10;No test was executed." type="E"><![CDATA[java.lang.AssertionError
Caused by: java.util.concurrent.ExecutionException: wrapped
	at somewhere
Caused by: org.apache.kafka.common.errors.UnknownTopicOrPartitionException: not here.]]></failure>
</testcase>
<testcase name="testClosed()[1]" classname="org.apache.kafka.RemoteLogSegmentLifecycleTest" time="0.1">
<error type="java.lang.NoClassDefFoundError"/>
</testcase>
<testcase name="testLeftOut()" classname="org.apache.kafka.RemoteLogSegmentLifecycleTest" time="0">
<skipped/>
</testcase>
</testsuite>
"""


def _report() -> Report:
    return Report(1, tuple(read_report(_XML)), Path("console.log"))


def test_every_test_of_the_report_is_found_with_its_time() -> None:
    assert len(_report().outcomes) == 4
    assert _report().outcomes[0] == Outcome("RemoteLogMetadataManagerTest.testFetchSegments()[1]", 4.011)


def test_a_failure_is_told_by_the_first_line_of_its_message_and_its_last_cause() -> None:
    assert _report().failures == {
        "RemoteLogSegmentLifecycleTest.testCacheListSegments()[2]": "Could not build it.; "
        "Caused by: org.apache.kafka.common.errors.UnknownTopicOrPartitionException: not here.",
        "RemoteLogSegmentLifecycleTest.testClosed()[1]": "java.lang.NoClassDefFoundError",
    }


def test_a_skipped_test_is_no_failure_and_does_not_get_lost() -> None:
    assert _report().skipped == ["RemoteLogSegmentLifecycleTest.testLeftOut()"]
