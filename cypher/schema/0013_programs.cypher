// Programs that are stored under a name. A program is named by the hash of its source; several may share a name, of
// which the one that was loaded last is run.

CREATE CONSTRAINT program_id IF NOT EXISTS
FOR (program:Program) REQUIRE (program.namespace, program.id) IS UNIQUE;

CREATE INDEX program_name IF NOT EXISTS
FOR (program:Program) ON (program.namespace, program.name);
