"""The events of a trace in Chrome's JSON format, read by Python, for comparisons with rows."""

import json
from collections import Counter
from contextlib import closing
from decimal import ROUND_HALF_UP, Decimal

import timebase


def asked(source, sql):
    """The rows of a query on a trace, on several, or on a database."""
    with closing(timebase.connect(source)) as trace:
        return trace.execute(sql).fetchall()


def events(path):
    """The events of a file. Numbers with a point are decimals."""
    read = json.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    return read["traceEvents"] if isinstance(read, dict) else read


def ns(microseconds):
    """JS9: microseconds as they are written, in nanoseconds, rounded half away from zero."""
    return int((Decimal(microseconds) * 1000).to_integral_value(ROUND_HALF_UP))


def complete(path):
    """JS19: name, ts, dur, pid and tid of the slices of all events of phase X."""
    return Counter((event["name"], ns(event["ts"]), ns(event["dur"]), event["pid"], event["tid"]) for event in events(path) if event["ph"] == "X")
