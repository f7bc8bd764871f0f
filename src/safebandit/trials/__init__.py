"""Live trials: the engine, its explanations, the record, verification and rehearsal."""
