-- Which processors a host has, by core.

ALTER TABLE nodes ADD COLUMN processors TEXT NOT NULL DEFAULT '';
