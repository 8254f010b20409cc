"""Statements that are hard to rewrite, over the tables of a library."""

READS = [
    "SELECT copy.copy_id FROM copy ORDER BY copy.copy_id",
    "SELECT a.copy_id, copy.copy_id FROM copy a JOIN copy ON copy.branch_id = a.branch_id ORDER BY 1, 2",
    "SELECT 'copy of loan', copy_id FROM copy ORDER BY 2",
    "SELECT 'it''s a copy', copy_id FROM copy -- of copy\n ORDER BY 2 /* not loan, nor copy */",
    "SELECT copy_id AS loan FROM copy ORDER BY loan",
    "SELECT copy_id loan, title copy FROM copy ORDER BY copy",
    "WITH fine AS (SELECT * FROM loan) SELECT fine.loan_id FROM fine ORDER BY fine.loan_id",
    "WITH copy AS (SELECT branch_id AS copy_id FROM branch) SELECT copy.copy_id, (SELECT count(*) FROM loan) AS n "
    "FROM copy ORDER BY 1",
    "SELECT fine.fine_id, (WITH fine AS (SELECT 7 AS x) SELECT fine.x FROM fine) AS x FROM fine ORDER BY fine.fine_id",
    "WITH a AS (SELECT loan_id FROM b), b AS (SELECT loan_id FROM loan) SELECT loan_id FROM a ORDER BY 1",
    "WITH a AS (SELECT 1 AS one FROM loan) SELECT count(*) FROM a",
    'SELECT "copy"."copy_id" FROM "copy" ORDER BY "copy"."copy_id"',
    "SELECT [copy].[copy_id], `loan`.`loan_id` FROM [copy], `loan` ORDER BY 1, 2",
    "SELECT COPY.Copy_Id FROM COPY ORDER BY Copy.COPY_ID",
    "SELECT loan.copy_id FROM copy AS loan ORDER BY loan.copy_id",
    "SELECT loan.copy_id, copy.loan_id FROM copy AS loan JOIN loan AS copy ON copy.copy_id = loan.copy_id ORDER BY 2",
    "SELECT loan_id FROM loan WHERE EXISTS (SELECT 1 FROM fine WHERE fine.loan_id = loan.loan_id) ORDER BY 1",
    "SELECT loan_id FROM loan WHERE (SELECT count(*) FROM loan AS fine WHERE fine.member_id = loan.member_id) > 1 "
    "ORDER BY loan.loan_id",
    "SELECT fine.n FROM (SELECT count(*) AS n FROM loan) AS fine",
    "SELECT loan.loan_id FROM loan NATURAL JOIN copy ORDER BY 1",
    "SELECT loan_id, title FROM loan JOIN copy USING (copy_id) ORDER BY loan_id",
    "SELECT copy.copy_id, loan.loan_id FROM copy LEFT JOIN loan ON loan.copy_id = copy.copy_id ORDER BY 1, 2",
    "SELECT x.loan_id FROM (loan JOIN copy USING (copy_id)) AS x ORDER BY 1",
    "SELECT loan.loan_id FROM (loan JOIN copy USING (copy_id)) ORDER BY 1",
    "SELECT loan_id FROM loan UNION SELECT fine_id FROM fine ORDER BY 1",
    "SELECT copy_id FROM copy EXCEPT SELECT loan.copy_id FROM loan ORDER BY 1",
    "SELECT loan_id, row_number() OVER (PARTITION BY loan.member_id ORDER BY loan.due_on) FROM loan ORDER BY 1",
    "SELECT member_id, count(*) AS loan FROM loan GROUP BY loan.member_id HAVING count(*) > 1 ORDER BY 1",
    "SELECT loan.* FROM loan ORDER BY loan.loan_id",
    "SELECT loan_id FROM loan WHERE (copy_id, member_id) IN (SELECT copy_id, member_id FROM loan) ORDER BY loan_id",
    "SELECT '日本 é copy 🎈', fine.note FROM fine WHERE fine.note LIKE '% hold' ORDER BY fine.fine_id",
    "SELECT loan_id FROM loan ORDER BY (SELECT title FROM copy WHERE copy.copy_id = loan.copy_id), loan_id",
    "SELECT loan_id FROM loan ORDER BY loan_id LIMIT (SELECT count(*) FROM branch)",
    "SELECT CASE WHEN EXISTS (SELECT 1 FROM fine) THEN (SELECT max(fine.note) FROM fine) ELSE 'fine' END AS note",
    "SELECT * FROM member ORDER BY member_id",
    "SELECT member.*, loan.loan_id FROM member JOIN loan USING (member_id) ORDER BY loan_id",
    "SELECT count(*) FROM member",
    "SELECT member.tier FROM member WHERE member.points > 20 ORDER BY member.member_id",
    "SELECT email, tier FROM MEMBER WHERE Member.Full_Name LIKE 'Person%' ORDER BY email",
    "WITH known AS (SELECT member_id, phone FROM member) SELECT phone FROM known ORDER BY known.member_id",
    "WITH member AS (SELECT member_id AS email FROM loan) SELECT DISTINCT email FROM member ORDER BY email",
    "SELECT a.email, b.tier FROM member a JOIN member b ON a.member_id < b.member_id ORDER BY 1, 2",
]
WRITES = [
    "UPDATE fine SET note = 'fine' WHERE fine.fine_id = 'FIN-0010'",
    "UPDATE fine AS f SET note = 'fine' WHERE f.fine_id = 'FIN-0010'",
    "UPDATE loan SET due_on = (SELECT max(l.due_on) FROM loan l WHERE l.member_id = loan.member_id) "
    "WHERE loan_id > 'L'",
    "UPDATE loan SET copy_id = (SELECT min(copy.copy_id) FROM copy WHERE copy.copy_id > loan.copy_id) "
    "WHERE EXISTS (SELECT 1 FROM copy WHERE copy.copy_id > loan.copy_id)",
    "UPDATE fine SET note = copy.title FROM loan JOIN copy USING (copy_id) WHERE loan.loan_id = fine.loan_id",
    "UPDATE fine SET amount_cents = (SELECT max(fine.amount_cents) FROM fine) + 1 WHERE fine.fine_id = 'FIN-0010'",
    "UPDATE fine SET note = 'seen' WHERE EXISTS (SELECT 1 FROM loan AS fine WHERE fine.due_on > '2025') "
    "AND fine.amount_cents > 200",
    "UPDATE fine SET (note, amount_cents) = (SELECT copy.title, 5 FROM copy WHERE copy.copy_id = 'COP-0001') "
    "WHERE fine.fine_id IN (SELECT fine_id FROM fine)",
    "WITH copy AS (SELECT copy_id FROM loan) UPDATE copy SET title = 'lent' "
    "WHERE copy_id IN (SELECT copy_id FROM copy)",
    "WITH fine AS (SELECT 'FIN-0010' AS fine_id) DELETE FROM fine "
    "WHERE fine.fine_id IN (SELECT fine.fine_id FROM fine)",
    "INSERT INTO fine VALUES ('FIN-0900', 'MEM-0001', NULL, 1, 'copy')",
    "INSERT INTO fine (fine_id, member_id, amount_cents) SELECT 'FIN-09' || fine.fine_id, fine.member_id, 3 FROM fine",
    "WITH late AS (SELECT loan.member_id FROM loan WHERE loan.loan_id = 'LOA-0020') "
    "INSERT INTO fine (fine_id, member_id, amount_cents) SELECT 'FIN-0900', late.member_id, 9 FROM late",
    "DELETE FROM fine WHERE fine.amount_cents > 200",
    "DELETE FROM fine AS f WHERE f.loan_id IN (SELECT loan.loan_id FROM loan)",
    'UPDATE "fine" SET "note" = \'x\' WHERE "fine"."fine_id" = \'FIN-0020\'',
    "UPDATE FINE SET note = 'é ' || Fine.note WHERE [fine].fine_id = 'FIN-0020'",
    "UPDATE member SET points = member.points + 1 WHERE member.member_id = 'MEM-0001'",
    "UPDATE member SET email = 'new@example.org' WHERE member.member_id = 'MEM-0001'",
    "UPDATE member SET tier = phone, phone = tier WHERE member.phone IS NOT NULL AND tier LIKE '%1'",
    "UPDATE member AS m SET phone = '+44 7' || m.tier WHERE m.points > 20 AND m.member_id < 'MEM-0003'",
    "UPDATE member SET phone = loan.due_on FROM loan WHERE loan.loan_id = 'LOA-0020' AND "
    "loan.member_id = member.member_id",
    "UPDATE member SET phone = (SELECT min(m.email) FROM member m WHERE m.member_id > member.member_id) "
    "WHERE member_id IN (SELECT member.member_id FROM member WHERE member.points > 0)",
    "WITH member AS (SELECT member_id FROM fine) UPDATE member SET phone = NULL "
    "WHERE member_id IN (SELECT member_id FROM member)",
]
