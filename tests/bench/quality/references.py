"""What summaries are held against: key facts and a short abstract of texts that are everywhere, and a made report.
SPDX-License-Identifier: Apache-2.0

The abstracts were written for this bench by reading the texts; the thresholds in src/document were not set on
them. GPL-3 is the one that was looked at while they were, and is marked so.
"""
import facts as invented

KEYS = {
    "MPL-2.0": ["Covered Software", "Source Code Form", "Executable Form", r"royalty-free|world-?wide", "patent",
                "Larger Work", "trademark", "Modification", "Secondary License", r"warrant|as is", r"liab|damages",
                r"terminat|30 days|60 days|reinstate"],
    "GFDL-1.3": ["Invariant Section", "Cover Text", "Transparent", "Secondary Section", r"\b100\b|one hundred",
                 "Title Page", "History", "Endorsements", r"[Cc]ollection", r"[Aa]ggregat", r"[Tt]ranslat",
                 r"terminat|new versions|revised versions"],
    "Apache-2.0": [r"Derivative Work", r"Contributor", r"perpetual|worldwide|royalty-free", "patent",
                   r"litigation|terminate", "NOTICE", r"[Tt]rademark", r"warrant|AS IS", r"liab", r"Contribution",
                   r"Source form|Object form", r"indemni|fee|support"],
    "Esther": ["Ahasuerus", "Vashti", "Mordecai", "Haman", "gallows", "Shushan", "Jews", r"ring|decree|letters|sealed",
               "gate", "banquet", "Purim", "Esther"],
    "GPL-3": [r"copyleft|free", r"source code", r"object code", r"patent", r"warrant", r"liab", r"convey", r"terminat",
              r"User Product|installation information|Installation Information", r"modif", r"Affero|later version",
              r"propagate|covered work"],
}

ABSTRACTS = {
    "MPL-2.0": """Each Contributor grants You a world-wide, royalty-free, non-exclusive license to use, reproduce, modify
and distribute its Contributions, and a license under its patent claims. All distribution of Covered Software in Source
Code Form, including any Modifications, must be under the terms of this License. If You distribute Covered Software in
Executable Form, it must also be made available in Source Code Form. You may create and distribute a Larger Work under
terms of Your choice. The license grants no rights in trademarks. The rights granted under this License terminate
automatically if You fail to comply with any of its terms, and are reinstated when You become compliant. Covered Software
is provided on an "as is" basis, without warranty of any kind, and no Contributor is liable for damages. Software may also
be distributed under a Secondary License.""",
    "GFDL-1.3": """The purpose of this License is to make a manual, textbook, or other functional and useful document free:
everyone may copy and redistribute it, with or without modifying it, either commercially or noncommercially. It is a kind
of copyleft. You may copy and distribute the Document verbatim in any medium. If you publish printed copies numbering more
than 100, you must enclose Cover Texts and include a machine-readable Transparent copy. A Modified Version must be released
under this License, with a new Title Page, the list of authors, the History section and all Invariant Sections unaltered;
sections Entitled "Endorsements" are deleted. Documents may be combined or made into a collection. A Translation is
considered a kind of modification. You may not copy, modify, sublicense, or distribute the Document except as provided.""",
    "Apache-2.0": """Each Contributor grants You a perpetual, worldwide, non-exclusive, no-charge, royalty-free, irrevocable
copyright license to reproduce, prepare Derivative Works of, publicly display, sublicense, and distribute the Work in Source
or Object form, and a patent license that terminates if You institute patent litigation. You must give any other recipients
a copy of this License, state that You changed the files, retain all copyright, patent, trademark, and attribution notices,
and include the attribution notices of the NOTICE file. This License does not grant permission to use the trade names or
trademarks of the Licensor. The Work is provided on an "AS IS" basis, without warranties, and no Contributor is liable for
damages.""",
}

FILLER = ["The committee met in the usual room and read the minutes of the meeting before.",
          "Members who had not yet seen the figures were given copies of them.",
          "There was some talk about the weather and about the state of the roads.",
          "Several letters on the matter were read aloud and put away again.",
          "It was agreed that the question would be looked at once more in the autumn.",
          "A short discussion followed, in which nobody raised an objection.",
          "The details can be found in the books that lie open in the office.",
          "Visitors asked about the same points that visitors always ask about.",
          "As in earlier years the work was done by the people who know it best.",
          "Some of the older members remembered a time when things were done otherwise."]

AREAS = ["Harbour", "Schools", "Forests", "Roads", "Water", "Museum", "Market", "Hospital", "Railway", "Archive",
         "Theatre", "Mill"]


FORMS = ["In {year} {who} {what} the {area} of {town} at a cost of {amount} thousand crowns.",
         "{who} {what} the {area} in {year}, for which {amount} thousand crowns were paid.",
         "For {amount} thousand crowns the {area} was {what} by {who}, and that was {year}.",
         "The year {year} saw {who}, who {what} the {area} and spent {amount} thousand crowns.",
         "It cost {amount} thousand crowns when, in {year}, the {area} was {what}; {who} answered for it.",
         "{amount} thousand crowns: so much went into the {area} that {who} {what} in {year}."]
AFTER = ["The {area} is the part of {town} that this changed most.", "Nothing did more for the {area} since.",
         "People who use the {area} speak of little else.", "Until then the {area} had been left alone.",
         "What came of it can be seen at the {area} every day.", "No other work on the {area} was as large."]


def make_report(draw, sections=12):
    """A long report whose every section has one sentence that matters: text, its key facts, its abstract.

    The sentences that matter differ in form: were they all made after one pattern, any summary that holds them
    would count as one that repeats itself."""
    town, keys, abstract = invented.name(draw), [], []
    text = [f"# Yearly report of the town of {town}", "", f"This report tells how the town of {town} fared."]
    for number, area in enumerate(AREAS[:sections]):
        words = {"town": town, "who": invented.person(draw), "amount": draw.randint(12, 980),
                 "year": draw.randint(1960, 1990), "area": area.lower(),
                 "what": draw.choice(["doubled", "halved", "closed", "rebuilt", "sold", "opened"])}
        key = FORMS[number % len(FORMS)].format(**words)
        keys.append(rf"{words['who'].split()[1]}|\b{words['amount']} thousand")
        abstract.append(key)
        text += ["", f"## {area}", ""]
        place = draw.randint(0, 5)
        for paragraph in range(6):
            lines = [draw.choice(FILLER) for _ in range(5)]
            if paragraph == place:
                lines[1:1] = [key, draw.choice(AFTER).format(**words)]
            text += [" ".join(lines), ""]
    return "\n".join(text), keys, " ".join(abstract)
