"""Invented facts, drawn afresh from a seed: a sentence, two questions to it, one that it does not answer.
SPDX-License-Identifier: Apache-2.0

Names are made of syllables, so that no text and no model knows them. `exact` asks in the fact's own words,
`loose` in other words that share mostly the name, `absent` asks something of the same thing that is said
nowhere, `foreign` asks of a thing that is nowhere named. Templates marked tune were looked at while the
thresholds in src/document were set; figures are taken on the others.
"""
import random
import re

STARTS = "Bel Cor Dra Fen Gal Hal Ist Jor Kel Lum Mar Nor Ost Pel Quor Ril Sar Tor Ulm Var Wen Yor Zel".split()
MIDDLES = "a e i o u an en il or ar am et".split()
ENDS = "dor vik mund beth ria lis tan ver noth gard sel ram quin dal mere ston".split()
FIRST = "Anna Tomas Edith Hugo Clara Viktor Ines Oskar Marta Felix Greta Ivan Nora Pavel Rosa Stefan".split()
COLOURS = "crimson teal amber violet turquoise scarlet indigo maroon".split()
THINGS = "copper slate granite oak marble bronze limestone cedar".split()
CITIES = "Lisbon Tallinn Porto Ghent Turin Bergen Krakow Basel".split()
MONTHS = "January February March April May June July August September October November December".split()


def name(draw):
    return draw.choice(STARTS) + draw.choice(MIDDLES) + draw.choice(ENDS)


def person(draw):
    return draw.choice(FIRST) + " " + name(draw)


# (tune?, sentence, exact, loose, absent, answer): {n} a name, {p} a person, {y} a year, {k} a number, …
TEMPLATES = [
    (1, "The bridge at {n} was built by {p} in the year {y}.", "Who built the bridge at {n}?",
     "Which engineer was responsible for the crossing at {n}?", "How heavy is the bridge at {n}?", "{p}"),
    (1, "The annual budget of the {n} Institute is {k} million crowns.",
     "What is the annual budget of the {n} Institute?", "How much money can the {n} Institute spend in twelve months?",
     "Who is the director of the {n} Institute?", "{k}"),
    (1, "The ship {n} sank near {c} on a night in {m} {y}.", "In which month did the ship {n} sink?",
     "When was the vessel {n} lost?", "How many sailors worked on the ship {n}?", "{m}|{y}"),
    (1, "The doors of the {n} museum are painted {o}.", "What colour are the doors of the {n} museum painted?",
     "Which hue was chosen for the entrance of the {n} museum?", "How many visitors does the {n} museum have?", "{o}"),
    (1, "{p} discovered the {n} comet while repairing a telescope.", "Who discovered the {n} comet?",
     "Which person first saw the {n} comet?", "In what year will the {n} comet return?", "{p}"),
    (1, "The {n} tunnel is {k} metres long.", "How long is the {n} tunnel?", "What is the length of {n}'s tunnel?",
     "Who designed the {n} tunnel?", "{k}"),
    (0, "The statue in {n} is made of {t}.", "What is the statue in {n} made of?",
     "Which material did the sculptor use for the figure at {n}?", "When was the statue in {n} unveiled?", "{t}"),
    (0, "The headquarters of the {n} company moved to {c} in {y}.",
     "Where did the headquarters of the {n} company move?", "In which city does the firm {n} have its main office?",
     "How many people does the {n} company employ?", "{c}"),
    (0, "The password of the {n} archive is changed every {k} days.",
     "How often is the password of the {n} archive changed?", "After how many days do users of the {n} archive need a new password?",
     "Who guards the {n} archive?", "{k}"),
    (0, "{p} was elected mayor of {n} in {y}.", "Who was elected mayor of {n}?",
     "Which politician governs the town of {n}?", "How many inhabitants does {n} have?", "{p}"),
    (0, "The lighthouse of {n} stands {k} feet above the sea.", "How many feet above the sea does the lighthouse of {n} stand?",
     "What is the height of {n}'s lighthouse?", "Who keeps the lighthouse of {n}?", "{k}"),
    (0, "The festival of {n} is held every {m}.", "When is the festival of {n} held?",
     "During which month do people celebrate at {n}?", "Who founded the festival of {n}?", "{m}"),
    (0, "The soup called {n} is seasoned with {t} ash.", "What is the soup called {n} seasoned with?",
     "Which ingredient gives {n} its flavour?", "How many calories does the soup called {n} have?", "{t}"),
    (0, "The library at {n} owns {k} manuscripts.", "How many manuscripts does the library at {n} own?",
     "What is the number of handwritten books kept in {n}?", "In which year was the library at {n} opened?", "{k}"),
    (0, "The treaty of {n} was signed by {p} at {c}.", "Who signed the treaty of {n}?",
     "Whose signature stands under the agreement of {n}?", "How many pages does the treaty of {n} have?", "{p}"),
    (0, "A ticket for the {n} railway costs {k} pence.", "How much does a ticket for the {n} railway cost?",
     "What is the price of travelling on the {n} line?", "Who owns the {n} railway?", "{k}"),
    (0, "The flag of {n} shows an {o} fox.", "What colour is the fox on the flag of {n}?",
     "Which animal can be seen on the banner of {n}?", "Who sewed the flag of {n}?", "{o}|fox"),
    (0, "The engine {n} was invented by {p}.", "Who invented the engine {n}?", "Which inventor created the machine {n}?",
     "How fast is the engine {n}?", "{p}"),
]


class Fact:
    def __init__(self, draw, template, taken):
        while True:
            place = name(draw)
            if place not in taken:
                break
        taken.add(place)
        values = {"n": place, "p": person(draw), "y": draw.randint(1700, 1990), "k": draw.randint(13, 899),
                  "c": draw.choice(CITIES), "o": draw.choice(COLOURS), "t": draw.choice(THINGS), "m": draw.choice(MONTHS)}
        _, self.sentence, self.exact, self.loose, self.absent, answer = (
            x.format(**values) if isinstance(x, str) else x for x in template)
        self.name = place
        self.keys = answer.split("|")
        other = name(draw)
        while other in taken:
            other = name(draw)
        self.foreign = self.exact.replace(place, other)
        self.at = 0  # byte in the text, once planted

    def answered_by(self, text):
        return any(re.search(r"(?<!\w)" + re.escape(k) + r"(?!\w)", text) for k in self.keys)


def draw_facts(draw, count, tune=False):
    pool = [t for t in TEMPLATES if bool(t[0]) == tune]
    chosen = draw.sample(pool, min(count, len(pool)))
    while len(chosen) < count:
        chosen.append(draw.choice(pool))
    taken = set()
    return [Fact(draw, t, taken) for t in chosen]


def plant(draw, text, facts):
    """Puts each fact between two sentences inside a paragraph, spread over the depths of the text."""
    spots = [m.end() for m in re.finditer(r"[a-z]{3}[.] +(?=[A-Z])|[a-z]{3}[.]\n(?=[A-Z ])", text)]
    chosen = []
    for i in range(len(facts)):
        low, high = len(text) * i // len(facts), len(text) * (i + 1) // len(facts)
        inside = [s for s in spots if low <= s < high] or spots or [len(text)]
        chosen.append(draw.choice(inside))
    order = list(range(len(facts)))
    draw.shuffle(order)
    pieces, at = [], 0
    for spot, which in sorted(zip(chosen, order)):
        pieces.append(text[at:spot])
        facts[which].at = len("".join(pieces).encode())
        pieces.append(facts[which].sentence + " ")
        at = spot
    pieces.append(text[at:])
    return "".join(pieces)
