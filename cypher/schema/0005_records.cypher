// A call that continues a recorded response finds it by the id that the endpoint gave to it.

CREATE INDEX metadata_response IF NOT EXISTS
FOR (metadata:Metadata) ON (metadata.namespace, metadata.response);
