-- Which model the tokens were spent on, for prices; null where the agent didn't say, and for what older versions counted.

ALTER TABLE token_usage ADD COLUMN model TEXT;
