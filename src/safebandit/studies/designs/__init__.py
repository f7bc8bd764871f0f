"""What designs do on scenarios: operating characteristics, their report, calibration and tuning."""
