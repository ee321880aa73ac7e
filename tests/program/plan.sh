# plan: rows that add up, from files, folders and configurations, in every form; what cannot fit ends with 4.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/program/program.sh"
toy small llama context=4096
toy window gemma3
toy alibi bloom

ends 0 "plan shows a model" longleaf plan small
holds out "Needs by context" "the table is there"
holds out "naive engine" "the naive engine stands beside it"
holds out "Rules of thumb" "rules of thumb stand beside the figures"
ends 0 "plan --json shows a model" longleaf plan small --json
sum=$(($(at needs.0.weights out) + $(at needs.0.cache out) + $(at needs.0.scratch out) + $(at needs.0.logits out) + $(at needs.0.program out)))
is "$sum" "$(at needs.0.total out)" "the components add up to the whole"
is "$(at needs.0.proven out)" true "figures of the CPU are proven"
ends 0 "several models make one table of CSV" longleaf plan --csv small window alibi
is "$(grep -c '^model,' out)" 1 "its names stand once"
is "$(cut -d, -f1 out | sort -u | wc -l)" 4 "every model has its rows"
is "$(awk -F, '{ print NF }' out | sort -u)" 15 "every row has as many fields"
ends 0 "plan draws a curve" longleaf plan small --svg drawn.svg
holds drawn.svg "</svg>" "the drawing is whole"
ends 0 "a GPU is planned for without one" longleaf plan small --gpu-memory 8G,24G
holds out "not proven by a measurement" "and said not to be proven"
holds out "Spread over these 2 devices" "layers are placed on several devices"
holds out "scratch" "with what each of them holds"
ends 0 "several devices are placed in JSON" longleaf plan small --gpu-memory 8G,24G --json
is "$(at placement.0.proven out)" false "and not proven"
is "$(($(at placement.0.layers out) + $(at placement.1.layers out)))" "$(at model.layers out)" "every layer once"
is "$(at tasks.0.context out)" 512 "tasks have their contexts"
ends 0 "every choice is a row" longleaf plan small --csv
is "$(cut -d, -f7 out | sort -u | tr '\n' ' ')" "4bit 8bit bf16 f16 f32 precision stored " "all precisions"
is "$(cut -d, -f6 out | sort -u | tr '\n' ' ')" "bf16 f16 f32 kv " "all KV types that its heads can be kept in"
awk -F, 'NR > 1 && $14 != $9 + $10 + $11 + $12 + $13' out > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "and every row adds up"
ends 0 "one context is shown row by row" longleaf plan window
holds out "layers that see a window of" "layers with a window apart"
ends 0 "so is a model with ALiBi" longleaf plan alibi
holds out "whose reach ALiBi" "with its kind of layers"
ends 0 "one context is shown alone" longleaf plan small -c 1000 --csv
is "$(cut -d, -f3 out | sort -u | tr '\n' ' ')" "1000 context " "and no other"

longleaf plan small --json > whole.json
ends 0 "a part of the layers is planned for a GPU" longleaf plan small --gpu-layers 1 -c 512
holds out "1 of $(at model.layers whole.json) layers on a GPU" "the layers are counted"
holds out "on the processor" "and the processor's part has its column"
ends 0 "so it is in JSON" longleaf plan small --gpu-layers 1 -c 512 --json
is "$(at split.0.gpu_layers out)" 1 "layers on the GPU"
is "$(($(at split.0.gpu_layers out) + $(at split.0.processor_layers out)))" "$(at model.layers out)" "every layer is on one side"
for side in gpu processor; do
    sum=$(($(at split.0.$side.weights out) + $(at split.0.$side.cache out) + $(at split.0.$side.scratch out) + $(at split.0.$side.logits out) + $(at split.0.$side.program out)))
    is "$sum" "$(at split.0.$side.total out)" "the rows of the $side add up"
done
is "$(at split.0.proven out)" false "and nothing of it is proven"
ends 0 "a GPU that is too small for the whole model" longleaf plan small --gpu-memory 1M,64G --json
is "$(at split.0.gpu_layers out)" 0 "gets no layer when it holds none"
is "$(at split.1 out)" "" "and one that holds all needs no such row"
ends 0 "a whole model has no such part" longleaf plan small --json
is "$(at split out)" null "which is null"
mkdir mixture
echo '{"model_type":"mixtral","hidden_size":64,"intermediate_size":128,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,"num_local_experts":4,"num_experts_per_tok":2,"vocab_size":300,"max_position_embeddings":2048}' > mixture/config.json
ends 0 "a mixture of experts is planned" longleaf plan ./mixture --gpu-memory 8G
holds out "mixtures of experts on the processor only" "and said not to run on a GPU"
ends 0 "so it is in JSON" longleaf plan ./mixture --gpu-layers 1 --json
is "$(at runs_on_gpu out)" false "that no GPU runs it"
refused 2 "gpu-layers" "no number of layers is refused" longleaf plan small --gpu-layers some

mkdir hf
echo '{"model_type":"llama","hidden_size":64,"intermediate_size":128,"num_hidden_layers":2,"num_attention_heads":4,"vocab_size":300,"max_position_embeddings":2048}' > hf/config.json
ends 0 "a folder with a configuration is enough" longleaf plan ./hf --json
is "$(at model.parameters out)" 120640 "its parameters are counted"
ends 0 "so is the configuration alone" longleaf plan hf/config.json

refused 2 "no list of at most" "sizes that are none are refused" longleaf plan small --gpu-memory 8x
refused 2 "two forms" "two forms at once are refused" longleaf plan small --json --csv
refused 2 "one model at a time" "one drawing shows one model" longleaf plan small alibi --svg x.svg
refused 5 "there is no model" "a model that is not there is refused" longleaf plan nowhere
echo '{"model_type":"t5"}' > t5.json
refused 5 "'t5'" "a family that is not known is named" longleaf plan ./t5.json
mkdir -p piped && mkfifo piped/config.json
refused 5 "not a regular file" "a configuration that is a pipe is not waited for" timeout -s KILL 20 longleaf plan piped
refused 4 "would fit" "a context that cannot fit ends with 4 and the nearest" longleaf run -m small -p hi --raw -c 4000000 --memory 64M
refused 4 "weights" "a model that cannot fit ends with 4 and its rows" longleaf run -m small -p hi --raw --memory 1M
tap_done
