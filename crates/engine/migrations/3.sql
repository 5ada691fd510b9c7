-- The newest keys, of all phases and of one, without a read of their states.
CREATE INDEX pull_changed ON pull (changed, key, version, phase);
CREATE INDEX pull_phase ON pull (phase, changed, key, version);
