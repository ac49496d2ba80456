"""The promises of the contract, and what holds a history against them: a file for each subject.

    history     the lines of a history, and what is known of a write
    causes      which faults may explain what went wrong
    answers     the status, the form and the time of each answer, and the keys that come and go
    creates     what becomes of creates
    attributes  what a conversation was made with, what it is updated to, and updated_at
    reads       gets, and searches with their pages
    audit_log   the entries of the audit log, and its seal
    events      events and their deliveries
"""
