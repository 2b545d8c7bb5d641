//! The dialect on a connection.
