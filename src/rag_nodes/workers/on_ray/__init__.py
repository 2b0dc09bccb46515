"""Workers of an ingest on Ray: on one machine, or on all machines of a cluster."""
