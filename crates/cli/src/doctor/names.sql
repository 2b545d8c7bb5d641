-- What machines and files are called, where there are several.
SELECT 'machine' AS kind, id, name FROM machine
WHERE (SELECT count(*) FROM machine) > 1
UNION ALL
SELECT 'file', id, name FROM trace_file
WHERE (SELECT count(*) FROM trace_file WHERE NOT is_container) > 1
