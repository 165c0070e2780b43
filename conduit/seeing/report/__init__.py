"""The report of a program: what its recording comes to, what is wrong with it, and a page that says so."""

from conduit.seeing.report.advice import Advice, advice
from conduit.seeing.report.observer import ReportRecording, SimulatedReportRecording
from conduit.seeing.report.page import FILES, PAGE, write_report
from conduit.seeing.report.parts import ReportPart, join_report_parts, report_part_of
from conduit.seeing.report.profile import Profile, profile
from conduit.seeing.report.report import RunReport
from conduit.seeing.report.vocabulary import EXTENDED, Vocabulary

__all__ = [
    "EXTENDED",
    "FILES",
    "PAGE",
    "Advice",
    "Profile",
    "ReportPart",
    "ReportRecording",
    "RunReport",
    "SimulatedReportRecording",
    "Vocabulary",
    "advice",
    "join_report_parts",
    "profile",
    "report_part_of",
    "write_report",
]
