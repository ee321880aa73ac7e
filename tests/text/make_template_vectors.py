"""Makes tests/text/vectors/templates.jsonl: templates of our own and what jinja2 renders of them.

SPDX-License-Identifier: Apache-2.0
Needs jinja2 (Debian's python3-jinja2 does); settings and filters are those that published chat templates are
written for. Run: python3 make_template_vectors.py > vectors/templates.jsonl
"""
import json
import sys

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.Scope(body).set_lineno(line)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


ENV = jinja2.sandbox.ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])
ENV.filters["tojson"] = tojson
ENV.globals["raise_exception"] = raise_exception

TALK = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "  Hello <|im_end|>\n"},
    {"role": "assistant", "content": "Grüße, \"Welt\" \U0001f44b"},
    {"role": "user", "content": "und weiter?"},
]
TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "Weather of a place",
    "parameters": {"type": "object", "properties": {"place": {"type": "string", "enum": ["Ulm", "Köln"]},
                                                    "days": {"type": "integer"}}, "required": ["place"]}}}]
CALLS = [
    {"role": "user", "content": "Weather in Ulm?"},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "a1", "type": "function", "function": {"name": "get_weather", "arguments": {"place": "Ulm"}}}]},
    {"role": "tool", "name": "get_weather", "content": "{\"sun\": true}"},
    {"role": "assistant", "content": "<think>\nhm\n</think>\n\nSunny."},
]

CASES = []


def case(template, **context):
    CASES.append((template, context))


def each(*templates, **context):
    for template in templates:
        case(template, **context)


# ---- white space, comments, raw ----
each("a\n", "a\n\n", "a\r\nb\rc", "{% if 1 %}\nx\n{% endif %}\ny", "  {% if 1 %}  x{% endif %}  \n  y",
     "a {%- if 1 -%} b {%- endif -%} c", "a  {%+ if 1 +%}\n b {% endif %}", "{# c #}\nx", "  {# c #}\n  x{#- d -#} y",
     "{% raw %}{{ x }}{% if %}{% endraw %}!", "a\n  {%- raw -%}  {{ b }}  {%- endraw -%}  c", "{{- ' a ' -}}  b",
     "x\n {{ 1 }}\n{{ 2 }}", "x\n\t{% set a = 1 %}\n\t{{ a }}", "{{ '}}' }}{{ \"%}\" }}", "{{ {'a': {'b': 1}}['a'] }}",
     "{ { }} %}", "a{%  if   true%}b{%endif%}", "\n{% if 1 %}\n\nx{% endif %}", "{% if 1 %} \n{% endif %}|",
     "x {#+ y +#} z", "{% for x in [1,2] -%}\n  {{ x }}\n{%- endfor %}", "")
# ---- literals and printing ----
each("{{ 1 }}{{ 1.0 }}{{ 1e3 }}{{ 1_000 }}{{ 0.1 + 0.2 }}{{ 1e16 }}{{ 1e-5 }}{{ 123456789.5 }}{{ 1e22 }}{{ 2.5e-3 }}",
     "{{ true }}{{ True }}{{ none }}{{ None }}{{ false }}", "{{ 'a' 'b' \"c\" }}", "{{ 'a\\n\\t\\'\\\\\\x41\\u00e9\\U0001F600\\q' }}",
     "{{ [1, 'a', none, true, [2.5], ('x',), (), {'k': 'v'}] }}", "{{ ['it\\'s', 'q\"', 'b\\\\', '\\n\\x00é\\u200b'] }}",
     "{{ {'a': 1, 2: 'b', none: []} }}", "{{ (1, 2) }}{{ 1, 2 }}{{ (1) }}", "{{ x }}|{{ x.y is defined }}", "{{ [] }}{{ {} }}",
     "{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 7.5 // 2 }} {{ -7.5 % 2 }}",
     "{{ 1 + 2 * 3 - 4 }}{{ -2 ** 2 }}{{ 2 ** 3 ** 2 }}{{ (1 + 2) * 3 }}{{ - 3 }}{{ +3 }}{{ -x if x else 5 }}",
     "{{ 'a' ~ 1 ~ none ~ 2.0 ~ u }}", "{{ 'a' * 3 }}{{ 2 * 'b' }}{{ [1] * 2 }}{{ 'a' * -1 }}{{ true + 1 }}",
     "{{ [1] + [2, 3] }}{{ (1,) + (2,) }}", "{{ 10000000000 * 3 }}", "{{ 1 == 1.0 }}{{ true == 1 }}{{ 'a' == 1 }}{{ [1] == [1] }}{{ (1,) == [1] }}",
     "{{ 1 < 2 < 3 }}{{ 1 < 2 > 5 }}{{ 'a' < 'b' }}{{ [1, 2] < [1, 3] }}{{ 3 >= 3 }}{{ 2 != 3 }}",
     "{{ 'a' in 'cat' }}{{ 'x' not in 'cat' }}{{ 1 in [1] }}{{ 'k' in {'k': 1} }}{{ '' in 'a' }}{{ 1 in u }}",
     "{{ 1 and 0 }}{{ 0 or 'x' }}{{ not 1 }}{{ not not 'a' }}{{ 1 or 2 and 3 }}", "{{ 'y' if 0 }}|{{ 'a' if 0 else 'b' if 0 else 'c' }}",
     "{{ 'x' if u is defined else 'y' }}", x=0)
# ---- access ----
each("{{ d.a }}{{ d['a'] }}{{ d.b.c }}{{ d.nope }}{{ d['nope'] }}", "{{ l[0] }}{{ l[-1] }}{{ l[9] }}{{ l.0 }}", "{{ s[0] }}{{ s[-1] }}{{ s[1:3] }}",
     "{{ l[1:] }}{{ l[:-1] }}{{ l[::-1] }}{{ l[::2] }}{{ l[5:] }}{{ l[-2:] }}{{ l[:0] }}", "{{ s[::-1] }}{{ s[:2] }}{{ s[-3:] }}{{ s[1:-1] }}{{ s[9:] }}{{ s[-99:2] }}",
     "{{ d.items() | list }}", "{{ d.keys() | list }}{{ d.values() | list }}", "{{ d.get('a') }}{{ d.get('q') }}{{ d.get('q', 5) }}",
     "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for k in d %}{{ k }}{% endfor %}", "{% for c in s %}{{ c }}.{% endfor %}",
     "{{ l[1] | string + 'x' }}", "{{ l.count(2) }}{{ l.index(3) }}", "{{ d['b']['c'] }}{{ d.b['c'] }}", "{{ (1, 2)[1] }}{{ [1, 2][-2] }}{{ 'abc'[1] }}",
     d={"a": 1, "b": {"c": "x"}}, l=[1, 2, 3, 2], s="añ漢\U0001f600z")
# ---- statements ----
each("{% set x = 1 %}{% if x == 1 %}a{% elif x == 2 %}b{% else %}c{% endif %}", "{% set a, b = 1, 2 %}{{ b }}{{ a }}", "{% set x %}hi {{ 1 }}{% endset %}{{ x }}",
     "{% set x | upper | replace('A', 'o') %}banana{% endset %}{{ x }}", "{% set ns = namespace(n=0, s='') %}{% for i in [1,2,3] %}{% set ns.n = ns.n + i %}{% set ns.s = ns.s ~ i %}{% endfor %}{{ ns.n }}{{ ns.s }}",
     "{% set x = 1 %}{% for i in [1,2] %}{{ x }}{% set x = x + 1 %}{{ x }}{% endfor %}{{ x }}", "{% set x = 1 %}{% if 1 %}{% set x = 2 %}{% endif %}{{ x }}",
     "{% for i in [] %}x{% else %}none{% endfor %}", "{% for i in range(5) if i is odd %}{{ loop.index }}:{{ i }}/{{ loop.length }} {% endfor %}",
     "{% for i in 'abc' %}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.previtem }}{{ loop.nextitem }};{% endfor %}",
     "{% for i in range(10) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}", "{% for i in range(3) %}{{ loop.cycle('a', 'b') }}{{ loop.changed(i // 2) }}{% endfor %}",
     "{% for x in tree recursive %}{{ x.n }}{{ loop.depth }}{% if x.c %}({{ loop(x.c) }}){% endif %}{% endfor %}",
     "{% for a, b in [(1, 2), [3, 4]] %}{{ a }}-{{ b }} {% endfor %}", "{% for i in [1,2] %}{% for j in [3,4] %}{{ loop.index }}{{ i }}{{ j }} {% endfor %}{{ loop.index }}{% endfor %}",
     "{% macro m(a, b=2, c='x') %}[{{ a }}{{ b }}{{ c }}]{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(1, c='y') }}{{ m(b=5, a=4) }}{{ m() }}",
     "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "{% macro f() %}{{ y }}{% endmacro %}{% set y = 4 %}{{ f() }}",
     "{% macro box(t) %}<{{ t }}>{{ caller() }}</{{ t }}>{% endmacro %}{% call box('b') %}in{% endcall %}", "{% macro rows(l) %}{% for x in l %}{{ caller(x) }}{% endfor %}{% endmacro %}{% call(v) rows([1,2]) %}({{ v }}){% endcall %}",
     "{% filter upper %}abc{{ 'd' }}{% endfilter %}", "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a }}", "{% set a = 5 %}{% with a = 1, b = a %}{{ a }}{{ b }}{% endwith %}",
     "{% generation %}x{{ 1 }}{% endgeneration %}y", "{{ range(3) | list }}{{ range(1, 4) | list }}{{ range(5, 0, -2) | list }}", "{{ dict(a=1, b='x') }}",
     "{% set m = namespace(found=false) %}{% for i in [1] %}{% set m.found = true %}{% endfor %}{{ m.found }}{{ m.none }}",
     "{% if not u %}n{% endif %}{% if u is not defined %}d{% endif %}{% if u is defined and u %}z{% endif %}", "{% for x in u %}a{% else %}b{% endfor %}",
     "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}", "{% set f = 3 %}{% macro g(f=f) %}{{ f }}{% endmacro %}{{ g(1) }}",
     tree=[{"n": "a", "c": [{"n": "b", "c": []}, {"n": "c", "c": [{"n": "d", "c": []}]}]}, {"n": "e", "c": []}])
# ---- filters ----
each("{{ u | default('x') }}{{ '' | default('y') }}{{ '' | default('z', true) }}{{ none | d('w') }}{{ u | d }}{{ u | default('q', boolean=true) }}",
     "{{ 'hELLO wOrld-foo (bar' | title }}{{ 'hELLO' | capitalize }}{{ 'ÀÉß' | upper }}{{ 'ÀÉ' | lower }}", "{{ '  x ' | trim }}|{{ 'xxaxx' | trim('x') }}|{{ '\u3000 a\u2003' | trim }}",
     "{{ 'aXbXc' | replace('X', '-') }}{{ 'aaa' | replace('a', 'b', 2) }}{{ 'ab' | replace('', '.') }}{{ 123 | replace('2', 'x') }}", "{{ l | length }}{{ 'añ' | length }}{{ {'a': 1} | count }}{{ u | length }}",
     "{{ l | first }}{{ l | last }}{{ [] | first }}{{ 'abc' | first }}{{ 'abc' | last }}", "{{ l | join }}{{ l | join(', ') }}{{ o | join('/', attribute='n') }}{{ 'abc' | join('-') }}",
     "{{ l | sort }}{{ l | sort(reverse=true) }}{{ ['b', 'A', 'c'] | sort }}{{ ['b', 'A', 'c'] | sort(case_sensitive=true) }}{{ o | sort(attribute='v') | map(attribute='n') | list }}",
     "{{ l | unique | list }}{{ ['a', 'A', 'b'] | unique | list }}{{ l | reverse | list }}{{ 'abc' | reverse }}", "{{ l | min }}{{ l | max }}{{ l | sum }}{{ o | sum(attribute='v') }}{{ [] | sum }}{{ ['b', 'A'] | min }}{{ o | max(attribute='v') }}",
     "{{ o | map(attribute='n') | list }}{{ ['a', 'b'] | map('upper') | join }}{{ ['a', 'b'] | map('replace', 'a', 'z') | list }}{{ o | map(attribute='q', default='-') | list }}",
     "{{ l | select('odd') | list }}{{ l | reject('odd') | list }}{{ [0, 1, ''] | select | list }}{{ l | select('>', 2) | list }}{{ l | select('in', [1]) | list }}",
     "{{ o | selectattr('v', 'equalto', 2) | list | length }}{{ o | rejectattr('v', '==', 2) | map(attribute='n') | join }}{{ o | selectattr('v') | list | length }}{{ o | selectattr('n', 'in', ['b']) | first }}",
     "{{ '3.7' | int }}{{ 'x' | int }}{{ 'x' | int(7) }}{{ 3.9 | int }}{{ '0' | int(5) }}{{ 'ff' | int(0, 16) }}{{ '4.5' | float }}{{ 'x' | float(1.5) }}{{ ' 12 ' | int }}{{ true | int }}",
     "{{ -3 | abs }}{{ 2.5 | round }}{{ 2.567 | round(2) }}{{ 2.1 | round(0, 'ceil') }}{{ 2.9 | round(method='floor') }}{{ 42 | round }}", "{{ 'a\nb\n\nc' | indent }}|{{ 'a\nb' | indent(2, true) }}|{{ 'a\n\nb' | indent(2, blank=true) }}|{{ 'a\nb' | indent('> ') }}",
     "{{ 'ab' | center(7) }}|{{ 'abc' | center(8) }}|", "{{ '<a href=\"x\">&\\'' | e }}{{ '<' | escape }}{{ '<' | safe }}", "{{ {'b': 1, 'a': 2} | dictsort }}{{ {'b': 1, 'a': 2} | dictsort(by='value') }}{{ {'b': 1, 'a': 2} | items | list }}",
     "{{ 'one two, three' | wordcount }}{{ [1,2,3,4,5] | batch(2) | list }}{{ [1,2,3] | batch(2, 0) | list }}", "{% for k, g in o | groupby('v') %}{{ k }}:{{ g | map(attribute='n') | join }} {% endfor %}",
     "{{ 5 | string ~ 'x' }}{{ 'ab' | list }}{{ {'a': 1} | list }}", "{{ 1 + 2 | abs }}{{ (1 - 4) | abs }}{{ 'a' ~ 'b' | upper }}{{ -5 | abs }}",
     "{{ l | map('string') | join('+') }}{{ 'x' | upper | lower | length }}", l=[3, 1, 2, 3], o=[{"n": "a", "v": 2}, {"n": "b", "v": 1}, {"n": "c", "v": 2}])
# ---- tests ----
each(*["{{ %s is %s }}" % (v, t) for v in ("1", "1.5", "'a'", "'A'", "[]", "{}", "none", "true", "u", "()") for t in
       ("defined", "undefined", "none", "boolean", "integer", "float", "number", "string", "mapping", "sequence", "iterable", "true", "false", "callable")])
each("{{ 3 is odd }}{{ 4 is even }}{{ 9 is divisibleby 3 }}{{ 9 is divisibleby(4) }}", "{{ 'a' is lower }}{{ 'A' is upper }}{{ '1' is lower }}", "{{ 1 is eq 1 }}{{ 1 is ne 2 }}{{ 1 is lt 2 }}{{ 1 is gt 2 }}{{ 1 is le 1 }}{{ 2 is ge 3 }}{{ 1 is equalto 1 }}",
     "{{ 1 is in [1, 2] }}{{ 'a' is not in 'b' }}{{ 1 is not none }}{{ x is not string and 1 }}", "{{ 'upper' is filter }}{{ 'nope' is filter }}{{ 'odd' is test }}{{ none is sameas none }}", "{{ range is callable }}", x=4)
# ---- string methods ----
each("{{ s.upper() }}{{ s.lower() }}{{ s.title() }}{{ s.capitalize() }}", "{{ ' a '.strip() }}|{{ ' a '.lstrip() }}|{{ ' a '.rstrip() }}|{{ 'xax'.strip('x') }}|{{ 'xyax'.lstrip('yx') }}|{{ 'a\n\n'.rstrip('\n') }}|",
     "{{ s.startswith('Hello') }}{{ s.endswith(('x', 'd')) }}{{ s.startswith('x') }}", "{{ 'a,b,,c'.split(',') }}{{ ' a  b '.split() }}{{ 'a,b,c'.split(',', 1) }}{{ 'a,b,c'.rsplit(',', 1) }}{{ 'a b c'.split(none, 1) }}{{ ''.split(',') }}{{ ''.split() }}",
     "{{ s.find('World') }}{{ s.find('zz') }}{{ s.rfind('o') }}{{ s.count('l') }}{{ s.index('e') }}{{ 'aaa'.count('') }}", "{{ s.replace('l', 'L') }}{{ s.replace('l', 'L', 1) }}", "{{ ','.join(['a', 'b']) }}{{ ''.join('xy') }}",
     "{{ 'a\nb\r\nc'.splitlines() }}{{ 'a\n'.splitlines() }}{{ 'a=b=c'.partition('=') }}{{ 'a'.partition('=') }}", "{{ 'prefix-x'.removeprefix('prefix-') }}{{ 'x.txt'.removesuffix('.txt') }}", "{{ '12'.isdigit() }}{{ 'ab'.isalpha() }}{{ 'a1'.isalnum() }}{{ ' '.isspace() }}{{ 'A'.isupper() }}{{ 'a'.islower() }}{{ ''.isdigit() }}",
     "{{ 'x</think>y</think>z'.split('</think>')[-1].lstrip('\n') }}", "{{ 'x'.split('</think>')[0] }}", "{{ ('a' ~ 'b').upper() }}{{ 'don\\'t stop'.title() }}", s="Hello World añ")
# ---- tojson ----
each("{{ x | tojson }}", "{{ x | tojson(indent=2) }}", "{{ x | tojson(sort_keys=true) }}", "{{ x | tojson(separators=(',', ':')) }}", "{{ x | tojson(ensure_ascii=true) }}", "{{ x | tojson(indent=4) | length }}",
     x={"b": [1, 2.5, None, True, {"z": []}], "a": "é\"\\\n\t\u0001\U0001f600</s>", "c": {}, "d": "\x7f"})
each("{{ 'a' | tojson }}{{ 1.0 | tojson }}{{ [] | tojson }}{{ none | tojson }}{{ (1, 2) | tojson }}{{ {1: 2} | tojson }}")
# ---- what is refused ----
each("{{ raise_exception('no: ' ~ 1) }}", "{{ u.x }}", "{{ u + 1 }}", "{{ 'a' + 1 }}", "{{ none + 'a' }}", "{{ 1 / 0 }}", "{{ [1].append(2) }}", "{{ {'a': 1}.update({'b': 2}) }}", "{{ 1 | nofilter }}",
     "{{ 1 is notest }}", "{{ u() }}", "{% for x in 5 %}{% endfor %}", "{{ u | tojson }}", "{{ 'a' < 1 }}", "{% if %}", "{% endif %}", "{% if 1 %}", "{{ 1", "{{ }}", "{{ 'a }}", "{% set x %}", "{% unknown %}", "{{ a b }}",
     "{% for x [1] %}{% endfor %}", "{{ (1 }}", "{{ 1 | }}", "{# x", "{{ 'a'.nomethod() }}", "{{ ''.join([1]) }}", "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{% endmacro %}{{ m(b=1) }}", "{% set a, b = [1] %}",
     "{{ 5 | length }}", "{{ [1, 'a'] | sort }}", "{% set x.y = 1 %}", "{{ 'abc'[::0] }}", "{{ range(1000000) }}", "{{ {}['a'].b }}", "{{ none.x.y }}", "{{ 'a'.split('') }}")

# ---- formats: how known families write their turns, in words of our own ----
CHATML = ("{% for message in messages %}{% if loop.first and message.role != 'system' %}{{ '<|im_start|>system\nYou help.<|im_end|>\n' }}{% endif %}"
          "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
LLAMA2 = ("{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set system = messages[0]['content'] %}{% else %}{% set rest = messages %}{% set system = false %}{% endif %}"
          "{% for m in rest %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate') }}{% endif %}"
          "{% if loop.index0 == 0 and system != false %}{% set text = '<<SYS>>\n' + system + '\n<</SYS>>\n\n' + m.content %}{% else %}{% set text = m.content %}{% endif %}"
          "{% if m.role == 'user' %}{{ bos_token + '[INST] ' + text.strip() + ' [/INST]' }}{% elif m.role == 'assistant' %}{{ ' ' + text.strip() + ' ' + eos_token }}{% endif %}{% endfor %}")
LLAMA3 = ("{{- bos_token }}\n{%- set date = '26 Jul 2024' %}\n{#- the system turn #}\n{%- if messages[0].role == 'system' %}\n    {%- set system_message = messages[0]['content'] | trim %}\n    {%- set messages = messages[1:] %}\n"
          "{%- else %}\n    {%- set system_message = '' %}\n{%- endif %}\n{{- '<|start_header_id|>system<|end_header_id|>\n\n' }}\n{%- if tools is not none %}\n    {{- 'Environment: ipython\n' }}\n{%- endif %}\n"
          "{{- 'Today: ' + date + '\n\n' }}\n{%- if tools is not none %}\n    {%- for t in tools %}\n        {{- t | tojson(indent=4) }}\n        {{- '\n\n' }}\n    {%- endfor %}\n{%- endif %}\n{{- system_message }}\n{{- '<|eot_id|>' }}\n"
          "{%- for message in messages %}\n    {%- if not (message.role == 'tool' or 'tool_calls' in message) %}\n        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>' }}\n"
          "    {%- elif 'tool_calls' in message %}\n        {%- set call = message.tool_calls[0].function %}\n        {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}\n        {{- '{\"name\": \"' + call.name + '\", ' }}\n        {{- '\"parameters\": ' }}\n"
          "        {{- call.arguments | tojson }}\n        {{- '}<|eot_id|>' }}\n    {%- else %}\n        {{- '<|start_header_id|>ipython<|end_header_id|>\n\n' }}\n        {%- if message.content is mapping or message.content is iterable and message.content is not string %}{{- message.content | tojson }}{%- else %}{{- message.content }}{%- endif %}\n"
          "        {{- '<|eot_id|>' }}\n    {%- endif %}\n{%- endfor %}\n{%- if add_generation_prompt %}\n    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}\n{%- endif %}\n")
GEMMA = ("{{ bos_token }}\n{%- if messages[0]['role'] == 'system' -%}\n    {%- if messages[0]['content'] is string -%}{%- set first = messages[0]['content'] + '\n\n' -%}{%- else -%}{%- set first = messages[0]['content'][0]['text'] + '\n\n' -%}{%- endif -%}\n    {%- set loop_messages = messages[1:] -%}\n"
         "{%- else -%}\n    {%- set first = '' -%}\n    {%- set loop_messages = messages -%}\n{%- endif -%}\n{%- for message in loop_messages -%}\n    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}{{ raise_exception('turns must alternate') }}{%- endif -%}\n"
         "    {%- set role = 'model' if message['role'] == 'assistant' else message['role'] -%}\n    {{ '<start_of_turn>' + role + '\n' + (first if loop.first else '') }}\n    {%- if message['content'] is string -%}{{ message['content'] | trim }}{%- else -%}{%- for item in message['content'] -%}{%- if item['type'] == 'text' -%}{{ item['text'] | trim }}{%- endif -%}{%- endfor -%}{%- endif -%}\n    {{ '<end_of_turn>\n' }}\n{%- endfor -%}\n"
         "{%- if add_generation_prompt -%}\n    {{ '<start_of_turn>model\n' }}\n{%- endif -%}\n")
QWEN3 = ("{%- if tools %}\n    {{- '<|im_start|>system\\n' }}\n    {%- if messages[0].role == 'system' %}\n        {{- messages[0].content + '\\n\\n' }}\n    {%- endif %}\n    {{- \"# Tools\\n\\n<tools>\" }}\n    {%- for tool in tools %}\n        {{- \"\\n\" }}\n        {{- tool | tojson }}\n    {%- endfor %}\n    {{- \"\\n</tools><|im_end|>\\n\" }}\n"
         "{%- else %}\n    {%- if messages[0].role == 'system' %}\n        {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}\n    {%- endif %}\n{%- endif %}\n{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}\n"
         "{%- for message in messages[::-1] %}\n    {%- set index = (messages|length - 1) - loop.index0 %}\n    {%- if ns.multi_step_tool and message.role == \"user\" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}\n        {%- set ns.multi_step_tool = false %}\n        {%- set ns.last_query_index = index %}\n    {%- endif %}\n{%- endfor %}\n"
         "{%- for message in messages %}\n    {%- if message.content is string %}\n        {%- set content = message.content %}\n    {%- else %}\n        {%- set content = '' %}\n    {%- endif %}\n    {%- if (message.role == \"user\") or (message.role == \"system\" and not loop.first) %}\n        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}\n    {%- elif message.role == \"assistant\" %}\n"
         "        {%- set reasoning_content = '' %}\n        {%- if message.reasoning_content is string %}\n            {%- set reasoning_content = message.reasoning_content %}\n        {%- else %}\n            {%- if '</think>' in content %}\n                {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}\n                {%- set content = content.split('</think>')[-1].lstrip('\\n') %}\n            {%- endif %}\n        {%- endif %}\n"
         "        {%- if loop.index0 > ns.last_query_index %}\n            {%- if loop.last or (not loop.last and reasoning_content) %}\n                {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}\n            {%- else %}\n                {{- '<|im_start|>' + message.role + '\\n' + content }}\n            {%- endif %}\n        {%- else %}\n            {{- '<|im_start|>' + message.role + '\\n' + content }}\n        {%- endif %}\n"
         "        {%- if message.tool_calls %}\n            {%- for tool_call in message.tool_calls %}\n                {%- if (loop.first and content) or (not loop.first) %}\n                    {{- '\\n' }}\n                {%- endif %}\n                {%- if tool_call.function %}\n                    {%- set tool_call = tool_call.function %}\n                {%- endif %}\n                {{- '<tool_call>\\n{\"name\": \"' }}\n                {{- tool_call.name }}\n                {{- '\", \"arguments\": ' }}\n"
         "                {%- if tool_call.arguments is string %}\n                    {{- tool_call.arguments }}\n                {%- else %}\n                    {{- tool_call.arguments | tojson }}\n                {%- endif %}\n                {{- '}\\n</tool_call>' }}\n            {%- endfor %}\n        {%- endif %}\n        {{- '<|im_end|>\\n' }}\n    {%- elif message.role == \"tool\" %}\n        {%- if loop.first or (messages[loop.index0 - 1].role != \"tool\") %}\n            {{- '<|im_start|>user' }}\n        {%- endif %}\n"
         "        {{- '\\n<tool_response>\\n' + content + '\\n</tool_response>' }}\n        {%- if loop.last or (messages[loop.index0 + 1].role != \"tool\") %}\n            {{- '<|im_end|>\\n' }}\n        {%- endif %}\n    {%- endif %}\n{%- endfor %}\n{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n' }}\n    {%- if enable_thinking is defined and enable_thinking is false %}\n        {{- '<think>\\n\\n</think>\\n\\n' }}\n    {%- endif %}\n{%- endif %}")
PHI3 = ("{% for message in messages %}{% if message['role'] == 'system' and message['content'] %}{{ '<|system|>\n' + message['content'] + '<|end|>\n' }}{% elif message['role'] == 'user' %}{{ '<|user|>\n' + message['content'] + '<|end|>\n' }}"
        "{% elif message['role'] == 'assistant' %}{{ '<|assistant|>\n' + message['content'] + '<|end|>\n' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}")
MISTRAL = ("{%- if messages[0]['role'] == 'system' %}{%- set system_message = messages[0]['content'] %}{%- set loop_messages = messages[1:] %}{%- else %}{%- set loop_messages = messages %}{%- endif %}{{- bos_token }}"
           "{%- for message in loop_messages %}{%- if message['role'] == 'user' %}{%- if loop.last and system_message is defined %}{{- '[INST]' + system_message + '\n\n' + message['content'] + '[/INST]' }}{%- else %}{{- '[INST]' + message['content'] + '[/INST]' }}{%- endif %}"
           "{%- elif message['role'] == 'assistant' %}{{- ' ' + message['content'] | trim + eos_token }}{%- else %}{{- raise_exception('Only user and assistant roles') }}{%- endif %}{%- endfor %}")
GRANITE = ("{%- if messages[0]['role'] == 'system' %}{%- set system_message = messages[0]['content'] %}{%- set loop_messages = messages[1:] %}{%- else %}{%- set system_message = \"Knowledge Cutoff Date: April 2024.\\nYou are an assistant.\" %}{%- set loop_messages = messages %}{%- endif %}"
           "{{- '<|start_of_role|>system<|end_of_role|>' + system_message + '<|end_of_text|>\\n' }}{%- if tools %}{{- '<|start_of_role|>tools<|end_of_role|>' }}{{- tools | tojson(indent=4) }}{{- '<|end_of_text|>\\n' }}{%- endif %}{%- for message in loop_messages %}{{- '<|start_of_role|>' + message['role'] + '<|end_of_role|>' + message['content'] + '<|end_of_text|>\\n' }}"
           "{%- if loop.last and add_generation_prompt %}{{- '<|start_of_role|>assistant<|end_of_role|>' }}{%- endif %}{%- endfor %}")
ZEPHYR = ("{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + message['content'] + eos_token }}\n{% elif message['role'] == 'system' %}\n{{ '<|system|>\n' + message['content'] + eos_token }}\n{% elif message['role'] == 'assistant' %}\n{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}")
DEEPSEEK = ("{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{% set ns = namespace(is_first=true, system_prompt='') %}{%- for message in messages %}{%- if message['role'] == 'system' %}{%- if ns.is_first %}{% set ns.system_prompt = ns.system_prompt + message['content'] %}{% set ns.is_first = false %}{%- else %}{% set ns.system_prompt = ns.system_prompt + '\\n\\n' + message['content'] %}{%- endif %}{%- endif %}{%- endfor %}"
            "{{ bos_token }}{{ ns.system_prompt }}{%- for message in messages %}{%- if message['role'] == 'user' %}{{ '<｜User｜>' + message['content'] }}{%- endif %}{%- if message['role'] == 'assistant' %}{% set content = message['content'] %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}{{ '<｜Assistant｜>' + content + '<｜end▁of▁sentence｜>' }}{%- endif %}{%- endfor %}{% if add_generation_prompt %}{{ '<｜Assistant｜><think>\\n' }}{% endif %}")
VICUNA = ("{% if messages[0].role == 'system' %}{{ messages[0].content }}{% set messages = messages[1:] %}{% else %}{{ 'A chat.' }}{% endif %}{% for m in messages %}{{ ' USER: ' ~ m.content if m.role == 'user' else ' ASSISTANT: ' ~ m.content ~ eos_token }}{% endfor %}{% if add_generation_prompt %}{{ ' ASSISTANT:' }}{% endif %}")
for template in (CHATML, LLAMA2, LLAMA3, GEMMA, QWEN3, PHI3, MISTRAL, GRANITE, ZEPHYR, DEEPSEEK, VICUNA):
    for talk in (TALK, TALK[1:], TALK[:2], TALK[1:2], TALK[2:], CALLS):
        for prompt in (True, False):
            for tools in (None, TOOLS):
                case(template, messages=talk, add_generation_prompt=prompt, tools=tools, bos_token="<s>", eos_token="</s>")
case(QWEN3, messages=TALK, add_generation_prompt=True, enable_thinking=False)
case(GEMMA, messages=[{"role": "user", "content": [{"type": "text", "text": " a "}, {"type": "text", "text": "b"}]}], add_generation_prompt=True, bos_token="<bos>")

DEFAULTS = {"messages": [], "add_generation_prompt": False, "bos_token": "", "eos_token": "", "tools": None, "documents": None}
for template, context in CASES:
    try:
        output = ENV.from_string(template).render(**{**DEFAULTS, **context})
    except Exception:
        output = None
    json.dump([template, context, output], sys.stdout, ensure_ascii=False, separators=(",", ":"))
    print()
