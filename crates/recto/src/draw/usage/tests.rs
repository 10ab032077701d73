//! What people read of a report.
