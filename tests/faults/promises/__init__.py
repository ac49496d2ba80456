"""The promises of the contract, and the code that checks a history against them: one file per subject.

    history     the lines of a history, and what is known about a write
    causes      which faults can explain a failure
    answers     the status, the form and the time of each response, and the churned keys
    creates     the effects of creates
    attributes  the attributes that a conversation is created with and updated to, and updated_at
    reads       gets, and searches with their pages
    audit_log   the entries of the audit log, and its seal
    events      events and their deliveries
"""
