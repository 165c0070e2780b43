"""The report of a program: what its recording comes to, what is wrong with it, and a page that says so."""

from conduit.seeing.report.advice import Advice, advice
from conduit.seeing.report.observer import ReportRecording
from conduit.seeing.report.page import write_report
from conduit.seeing.report.profile import Profile, profile
from conduit.seeing.report.report import RunReport

__all__ = ["Advice", "Profile", "ReportRecording", "RunReport", "advice", "profile", "write_report"]
