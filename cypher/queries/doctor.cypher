// name: server
// What a server is, and what its clock says, in milliseconds since 1970.
CALL dbms.components() YIELD name, versions, edition
WHERE name = 'Neo4j Kernel'
RETURN versions[0] AS version, edition, datetime().epochMillis AS clock;
