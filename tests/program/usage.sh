# Wrong command lines: one sentence with a near miss, exit code 2, nothing on standard output.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/program/program.sh"
echo text > file.txt

refused 2 'did you mean sum?' "an unknown verb gets a suggestion" longleaf summ file.txt
refused 2 'did you mean sum?' "a longer word for a verb gets a suggestion" longleaf summarise file.txt
refused 2 'did you mean models?' "another unknown verb gets a suggestion" longleaf model list
refused 2 'did you mean `longleaf sum file.txt`' "a file in the verb's place gets a suggestion" longleaf file.txt
refused 2 'did you mean --temp?' "an unknown option gets a suggestion" longleaf run --temperature 1
refused 2 'did you mean --length?' "swapped letters are seen" longleaf sum --lenght short file.txt
refused 2 'is not an option of run, but of sum' "an option of another verb says whose it is" longleaf run --length short
refused 2 'is not a number' "a word is no number" longleaf run --temp warm
refused 2 'is not a whole number' "a fraction is no count" longleaf run -n 1.5
refused 2 'outside 0 to' "a negative count is refused" longleaf run -n -1
refused 2 'is outside 0 to 1' "a probability stays below 1" longleaf run --top-p 1.5
refused 2 'is not a number' "nan is no number" longleaf run --temp nan
refused 2 'did you mean q8_0?' "a choice gets a suggestion" longleaf run --kv q8
refused 2 'needs a value' "a missing value is said" longleaf run -p
refused 2 'takes no value' "a flag takes no value" longleaf run --raw=yes
refused 2 'needs something to work on' "sum needs a file" longleaf sum
refused 2 'takes no words' "bench takes no words" longleaf bench fast
refused 2 'there is no option “-z”' "an unknown letter is said" longleaf run -z
refused 2 'the prompt is empty' "an empty prompt is refused" longleaf run -p ''
refused 2 'takes one prompt' "two prompts are refused" longleaf run -p a -f file.txt
refused 2 'did you mean `run -p' "a bare prompt gets a suggestion" longleaf run hello
refused 2 '--logprobs needs --json' "logprobs without json are refused" longleaf run -p a --logprobs 3
refused 2 'did you mean verify?' "models suggests its words" longleaf models verfy
refused 2 'there is no help on' "help knows its topics" longleaf help nothing
refused 2 'takes whole numbers separated' "token ids are whole numbers" longleaf run --tokens '1 two 3'
refused 2 'rising whole numbers' "depths must rise" longleaf bench --depths 512,0

ends 0 "--help needs nothing" longleaf --help
ends 0 "a verb's --help needs no operands" longleaf sum --help
ends 0 "--version prints" longleaf --version
holds out 'longleaf ' "the version names the program"
mkdir -p "$HOME/.config/longleaf"
echo 'nonsense' > "$HOME/.config/longleaf/config"
ends 0 "--version needs no sound configuration" longleaf --version
ends 0 "--help needs no sound configuration" longleaf run --help
refused 2 'line 1' "a wrong configuration names its line" longleaf run -p a
tap_done
