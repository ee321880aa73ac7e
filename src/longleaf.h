/* The public API of longleaf: engine, model, session, document, plan, summary.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nouns
 *   engine    the devices, worker threads and log of one process
 *   model     weights, tokenizer and chat template; shared by sessions
 *   session   one timeline of tokens with its KV cache and logits; the verb is *sync*
 *   document  text with pages, sections and byte offsets
 *   blueprint a model's shape, from its metadata alone: what it will need before it is loaded
 *   plan      what will be computed before it is: windows, calls, tokens, memory
 *   summary   a tree of partial summaries with the pages and bytes each rests on
 *   answer    what a document says to a question, with the sentences it stands in
 *   run       one struct handed to every long call: who may cancel it, who hears of it
 *
 * Rules
 *   1. No global state. Engines are independent. Locale, signals and standard streams are never
 *      touched; nothing is printed; nothing exits the process. Numbers in templates, metadata and
 *      documents are read with a decimal point, whatever LC_NUMERIC is; sentences follow it.
 *   2. A model may be shared by sessions on several threads. A session or document is used by one
 *      thread at a time; a second mutating call returns LL_BUSY. Functions marked [any thread] may
 *      be called from any thread at any moment; ll_cancel_request also from a signal handler.
 *   3. Callbacks run on the calling thread, between steps, never with a lock held; they may call
 *      [any thread] functions and nothing else of that object. Token text is always whole UTF-8
 *      characters and lives until the callback returns.
 *   4. close/free accept NULL. A session keeps its model alive, a model its engine: closing in any
 *      order is safe.
 *   5. Returned pointers belong to the object and live until its next mutating call.
 *   6. Cancel leaves a session valid at the last finished token; ll_session_position tells where.
 *      Errors do the same, LL_DEVICE excepted (close the session; the text says so).
 *   7. Sizes by two calls: cap 0 returns the needed count and LL_OK.
 *   8. Results come through last parameters, set only on success. `error` comes last and may be NULL.
 *      An index past the end is LL_NOT_FOUND.
 *   9. Every options struct starts with its size; call its _init before changing fields. A NULL options
 *      or run pointer means the defaults.
 */
#ifndef LONGLEAF_H
#define LONGLEAF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LL_API_VERSION 1

typedef struct ll_engine ll_engine;
typedef struct ll_model ll_model;
typedef struct ll_session ll_session;
typedef struct ll_document ll_document;
typedef struct ll_plan ll_plan;
typedef struct ll_blueprint ll_blueprint;
typedef struct ll_summary ll_summary;
typedef struct ll_answer ll_answer;
typedef struct ll_cancel ll_cancel;
typedef int32_t ll_token;

/* ---- status and errors ---------------------------------------------------------------------- */

typedef enum ll_status { /* 0 is success, all else negative */
    LL_OK = 0,
    LL_NOMEM = -1,         /* the allocator refused, or a plan does not fit in memory     */
    LL_IO = -2,            /* reading or writing failed; text holds the system's reason   */
    LL_NOT_FOUND = -3,     /* no such file, key or item                                   */
    LL_FORMAT = -4,        /* a file is damaged or lies about itself                      */
    LL_UNSUPPORTED = -5,   /* sound, but not something this build can do                  */
    LL_ARGUMENT = -6,      /* the caller's argument is out of range                       */
    LL_STATE = -7,         /* not possible in the object's present state                  */
    LL_BUSY = -8,          /* another thread is inside a mutating call                    */
    LL_CANCELLED = -9,     /* the run's cancel flag was raised                            */
    LL_CONTEXT_FULL = -10, /* more tokens than the context holds; text holds both numbers */
    LL_DEVICE = -11,       /* the device failed; the session must be closed               */
    LL_DEVICE_MEMORY = -12, /* the device has no room                                     */
    LL_VERSION = -13,      /* struct size or plug-in version unknown                      */
    LL_UNREADABLE = -14,   /* a document that cannot be read as text (scan, password, …)  */
    LL_INTERNAL = -15      /* a broken invariant: a bug; text says which                  */
} ll_status;

typedef struct ll_error {
    ll_status status;
    int64_t offset;  /* byte offset in the file or text concerned, -1 when there is none */
    char where[64];  /* the part that failed: "gguf", "tokenizer", a file name's tail …   */
    char text[512];  /* one sentence for a person: what, where, what to do               */
} ll_error;

const char *ll_version(void);                       /* "0.1.0"                        [any thread] */
int ll_api_version(void);                           /* LL_API_VERSION of the library  [any thread] */
const char *ll_status_name(ll_status status);       /* "LL_OK"                        [any thread] */
const char *ll_status_text(ll_status status);       /* a few words                    [any thread] */

/* ---- runs: cancellation, tokens, progress ---------------------------------------------------- */

typedef enum ll_flow { LL_CONTINUE, LL_STOP } ll_flow;

typedef enum ll_phase {
    LL_LOADING,     /* bytes of weights        */
    LL_PREFILLING,  /* tokens of prompt        */
    LL_DECODING,    /* tokens generated        */
    LL_READING,     /* bytes of document       */
    LL_CHUNKING,    /* bytes of document       */
    LL_SUMMARIZING, /* windows                 */
    LL_FUSING,      /* model calls of fusion   */
    LL_ASKING       /* windows                 */
} ll_phase;

typedef struct ll_choice { /* one alternative at one position */
    ll_token token;
    float logprob; /* natural logarithm, of the model's untouched distribution */
} ll_choice;

typedef struct ll_token_event {
    ll_token token;   /* -1: no token, only text that was held back when the run ended early */
    const char *text; /* whole UTF-8 that became printable with this token; may be empty */
    size_t length;
    float logprob;    /* of the token in the model's untouched distribution; NAN unless choices > 0 */
    size_t index;     /* 0 for the first generated token */
    const ll_choice *choices; /* the best alternatives, best first; NULL unless asked for */
    size_t choice_count;
} ll_token_event;

typedef struct ll_progress {
    ll_phase phase;
    uint64_t done, total; /* in the phase's unit; total 0 when unknown                     */
    const char *label;    /* "window 3 of 22", a file name, or NULL                        */
} ll_progress;

typedef ll_flow (*ll_token_fn)(void *user, const ll_token_event *event);
typedef void (*ll_progress_fn)(void *user, const ll_progress *progress);
typedef void (*ll_log_fn)(void *user, int level, const char *module, const char *text);

typedef struct ll_run {
    size_t size;
    ll_cancel *cancel;          /* may be NULL */
    ll_token_fn on_token;       /* may be NULL */
    ll_progress_fn on_progress; /* may be NULL */
    void *user;
} ll_run;

void ll_run_init(ll_run *run);
ll_cancel *ll_cancel_new(void);
void ll_cancel_request(ll_cancel *cancel);         /* [any thread] [signal handler] */
bool ll_cancel_requested(const ll_cancel *cancel); /* [any thread] */
void ll_cancel_reset(ll_cancel *cancel);
void ll_cancel_free(ll_cancel *cancel);

/* ---- engine --------------------------------------------------------------------------------- */

typedef enum ll_device_kind { LL_CPU, LL_CUDA } ll_device_kind;
typedef enum ll_dtype { LL_F32, LL_F16, LL_BF16, LL_Q8_0 } ll_dtype;

typedef struct ll_engine_options {
    size_t size;
    int threads;              /* 0: one per core this process may use */
    const char *backend_path; /* folder of plug-ins; NULL: the installed one */
    const char *device;       /* "auto", "cpu", "reference" (plain loops), "cuda", "cuda:0"; NULL: auto */
    uint64_t memory;          /* bytes of the device that models and caches may take; 0: what there is */
} ll_engine_options;

typedef struct ll_device_info {
    ll_device_kind kind;
    char name[128];    /* "AMD EPYC 9655", "NVIDIA H200" */
    char backend[32];  /* "cpu avx512-vnni", "cuda sm_90" */
} ll_device_info;

typedef enum ll_component { /* what memory is taken for */
    LL_WEIGHTS, /* the model's matrices and vectors                                          */
    LL_CACHE,   /* keys and values                                                           */
    LL_SCRATCH, /* activations of one step, working space of the threads, graphs             */
    LL_LOGITS,  /* rows of [vocabulary], the device's and the callers'                       */
    LL_PROGRAM, /* the program with tokenizer and text; on a GPU the driver's context        */
    LL_COMPONENTS
} ll_component;

typedef struct ll_memory { /* bytes of one device; NAN for a sensor that is not there */
    uint64_t total, free; /* the device's; on the CPU the machine's, or its container's where that is less */
    uint64_t weights, cache, scratch;  /* reserved[] of these, for short; scratch with the logits          */
    uint64_t used[LL_COMPONENTS];      /* holds data now                                                   */
    uint64_t reserved[LL_COMPONENTS];  /* taken from the device                                            */
    uint64_t peak[LL_COMPONENTS];      /* the largest reserved since the engine was opened                 */
    uint64_t limit;                    /* of the container around this process; 0: none                    */
    uint64_t resident, resident_peak;  /* of this process, in the machine's memory                         */
    float busy, celsius, watts;        /* of a GPU: share of time that it computes, 0 … 1                  */
    double joules;                     /* that the GPU has drawn since its driver was loaded               */
} ll_memory;

typedef struct ll_heap { /* the C library's allocator in this process; 0 where it does not say */
    uint64_t used;     /* bytes that programs hold                        */
    uint64_t reserved; /* taken from the system for them, holes included  */
} ll_heap;

enum { LL_WINDOWS_AT_ONCE = 64 };

typedef struct ll_window_work { /* one window that is being computed; all but the number are tokens */
    uint32_t window;            /* of those that are computed together, from 0 */
    uint32_t prompt, read, written;
} ll_window_work;

typedef struct ll_activity { /* windows of a document, computed side by side; windows 0: none are */
    size_t windows, finished, running;
    size_t blocks_used, blocks_shared, blocks_free, block_tokens; /* of their KV cache */
    ll_window_work now[LL_WINDOWS_AT_ONCE];                       /* [running] */
} ll_activity;

void ll_engine_options_init(ll_engine_options *options);
ll_status ll_engine_open(const ll_engine_options *options, ll_engine **ret, ll_error *error);
void ll_engine_close(ll_engine *engine);
void ll_engine_set_log(ll_engine *engine, ll_log_fn log, void *user);
size_t ll_engine_device_count(const ll_engine *engine);
ll_status ll_engine_get_device(const ll_engine *engine, size_t device, ll_device_info *ret);
const char *ll_component_name(ll_component component); /* "weights", "cache", …   [any thread] */
/* One reading for a gauge: some microseconds, and no lock that a computation would wait for. */
ll_status ll_engine_get_memory(const ll_engine *engine, size_t device, ll_memory *ret); /* [any thread] */
/* What the allocator keeps beyond what is used is fragmented or free; ll_session_trim and ll_model_rest give
 * back what can be. Waits for the allocator's own locks: not for every frame. */
void ll_heap_get(ll_heap *ret); /* [any thread] */
/* Which windows of a document are being computed at this moment; as cheap as the reading above. */
ll_status ll_engine_get_activity(const ll_engine *engine, ll_activity *ret); /* [any thread] */
size_t ll_engine_note_count(const ll_engine *engine);             /* why a backend is absent … */
const char *ll_engine_note(const ll_engine *engine, size_t note); /* NULL past the end */

/* ---- model ---------------------------------------------------------------------------------- */

typedef struct ll_adapter { /* a GGUF file with low-rank changes to a model, put over it as it runs */
    const char *path;
    float scale; /* 1: as trained */
} ll_adapter;

enum { LL_GPU_LAYERS_AUTO = -1 };

typedef struct ll_model_options {
    size_t size;
    bool metadata_only; /* no device memory, no tensors read: for info and tokens */
    const char *const *set_meta; /* [set_meta_count] "key=type:value" in place of what the file says; types */
    size_t set_meta_count;       /* are u32, i32, f32, bool and str; "*.key" is one of the architecture */
    const ll_adapter *adapters;  /* [adapter_count], one over the other */
    size_t adapter_count;
    int gpu_layers; /* that a GPU gets, the last ones, and the output; more than there are: all.
                       The others run on the processor. LL_GPU_LAYERS_AUTO: as many as fit, which is said in
                       the log. Without a GPU there is nothing to share out, which is said as well */
    size_t context; /* tokens of the sessions to come, whose keys shall fit beside them; 0: up to 4096 */
} ll_model_options;

typedef enum ll_position { LL_ROTARY, LL_ALIBI, LL_LEARNED, LL_NO_POSITION } ll_position;

typedef struct ll_model_info {
    char name[128], architecture[64], quantization[32]; /* quantization: the type of most bytes */
    char tokenizer[64];  /* "bpe smollm", "spm" */
    char chat[64];       /* how turns look: "chatml", "gemma", "llama3" … "other"; "none"; "unknown" */
    uint64_t parameters, file_bytes;
    size_t trained_context, vocabulary, layers, width, heads, cache_heads, head_size;
    size_t sliding_window; /* 0: none */
    ll_position position;
    uint64_t cache_bytes_per_token; /* with the default cache type */
    size_t adapters;
    uint64_t adapter_bytes; /* that they take in memory */
    size_t experts, experts_used; /* of each layer, and by each token; 0: none */
    uint64_t token_parameters;    /* that each token is multiplied by: all but those of idle experts */
    int gpu_layers; /* where the weights are, as in the options: one more than there are layers is all */
} ll_model_info;

typedef struct ll_adapter_info {
    char name[128], architecture[64], base[128]; /* "" where the file does not say */
    char base_file[128]; /* the base's file, which lies beside the adapter */
    double alpha;                 /* 0: not said */
    size_t matrices, vectors;     /* that it changes */
    size_t least_rank, most_rank; /* of the matrices */
    size_t slopes;                /* ALiBi slopes in place of rotary positions; 0: none */
    uint64_t parameters, file_bytes;
} ll_adapter_info;

typedef struct ll_meta { const char *key; const char *value; } ll_meta; /* value shortened for reading */
typedef struct ll_tensor_info {
    const char *name, *type;
    int dims;
    uint64_t shape[4]; /* fastest dimension first, as in the file */
    uint64_t bytes;
} ll_tensor_info;

void ll_model_options_init(ll_model_options *options);
/* path: a GGUF file, or a folder with config.json, safetensors and a tokenizer as Hugging Face has them. */
ll_status ll_model_open(ll_engine *engine, const char *path, const ll_model_options *options,
                        const ll_run *run, ll_model **ret, ll_error *error);
void ll_model_close(ll_model *model);
/* Whether a file, or such a folder, is sound and one that this build runs: all that opening looks at but the
 * values of the weights, in milliseconds and without an engine. ret may be NULL; see ll_model_get_info. */
ll_status ll_model_check(const char *path, ll_model_info *ret, ll_error *error);
ll_status ll_model_get_info(const ll_model *model, ll_model_info *ret);
/* 64 hexadecimal digits: models with equal ones on equal backends give equal answers. Reads a few MiB. */
ll_status ll_model_get_identity(const ll_model *model, char ret[65], ll_error *error);
/* Bytes of the mapped model file that are in memory at this moment (page cache); 0 where weights are kept on
 * a device. Takes about a millisecond for each GiB. */
uint64_t ll_model_cached_bytes(const ll_model *model); /* [any thread] */
/* Gives the weights' memory back to the system: pages of the mapped file, here and in the page cache, what a
 * device holds, and working space. Sessions stay as they are. The weights come back with the next sync,
 * generate or job, which reports LL_LOADING first and may fail as ll_model_open does, changing nothing.
 * Waits for a step that is being computed. Returns the bytes let go; 0: they are let go already. */
uint64_t ll_model_rest(ll_model *model); /* [any thread] */
/* Writes the GGUF file, or the Hugging Face folder, `in` to the GGUF file `out` with its matrices as type
 * ("Q4_K", "Q8_0", "BF16" …; NULL: as they are), some rows at a time, a folder's one tensor at a time;
 * vectors stay as they are. `out` is replaced at the end, or left as it was. LL_ARGUMENT: no such type, or
 * both are one file. Progress counts bytes read, in the phase LL_LOADING. */
ll_status ll_model_quantize(const char *in, const char *out, const char *type, const ll_run *run,
                            ll_error *error);
/* LL_UNSUPPORTED when the file is sound and no adapter that can be used. */
ll_status ll_adapter_get_info(const char *path, ll_adapter_info *ret, ll_error *error);
size_t ll_model_meta_count(const ll_model *model);
ll_status ll_model_get_meta(const ll_model *model, size_t index, ll_meta *ret);
size_t ll_model_tensor_count(const ll_model *model);
ll_status ll_model_get_tensor(const ll_model *model, size_t index, ll_tensor_info *ret);

/* ---- blueprint: what a model will need, from its metadata alone ------------------------------ */

typedef enum ll_precision { /* of the matrices; vectors are F32 everywhere */
    LL_AS_STORED,
    LL_IN_F32,
    LL_IN_F16,
    LL_IN_BF16,
    LL_IN_8BIT, /* 8.5 bits a weight with scales: Q8_0             */
    LL_IN_4BIT  /* 4.5 bits a weight with scales: Q4_0, Q4_K       */
} ll_precision;

enum { LL_ROWS_DRAFTED = 16, LL_ROWS_SCORED = 32 }; /* of logits, from one step */

typedef struct ll_need_options {
    size_t size;
    ll_device_kind device;
    int threads;            /* of the CPU; 0: one for each core this process may use         */
    ll_precision precision;
    ll_dtype cache_type;    /* LL_F16                                                        */
    size_t context;         /* tokens of each sequence; 0: as trained                        */
    size_t sequences;       /* side by side: 1 is a session, more are windows of a summary   */
    size_t shared;          /* tokens at the beginning that the sequences have in common     */
    int gpu_layers;         /* of LL_CUDA, as in ll_model_options; LL_GPU_LAYERS_AUTO: all         */
    size_t logit_rows;      /* 1; LL_ROWS_DRAFTED with lookup, LL_ROWS_SCORED to score texts       */
} ll_need_options;

typedef struct ll_need { /* bytes; UINT64_MAX: beyond 64 bits */
    uint64_t bytes[LL_COMPONENTS], total;           /* on the device */
    uint64_t host[LL_COMPONENTS], host_total;       /* with the processor beside it; 0: nothing is split */
    size_t host_layers;                             /* the first ones, with the processor */
    uint64_t cache_full, cache_sliding, cache_alibi; /* the cache by layers: that see everything, that see a
                          window, whose heads reach as far as ALiBi's slopes let them */
    size_t full_layers, sliding_layers, alibi_layers;
    uint64_t activations, working, graphs; /* the scratch by use: one step's tensors, that of products and
                          attention (of all threads), recorded steps of a GPU (assumed) */
    size_t context;
    bool extrapolated; /* longer than the model was trained for */
    bool proven;       /* this kind of device: predictions are held against measurements in the tests */
    uint64_t naive_weights, naive_cache, naive_scores, naive_logits, naive_total; /* a plain engine: all in
                          FP32, the scores of one layer as a matrix, logits of every position */
} ll_need;

typedef struct ll_weight_type {
    const char *name;
    uint64_t bytes, parameters;
    size_t tensors;
} ll_weight_type;

typedef struct ll_placement { /* of whole layers, in order, on one of several devices */
    size_t first_layer, layers;
    bool embedding, output; /* the first device has the embedding, the last one with layers the output */
    uint64_t bytes, memory; /* what is placed there, and what there is */
    uint64_t parts[LL_COMPONENTS]; /* of bytes */
} ll_placement;

/* path: a GGUF file, a Hugging Face folder or its config.json alone. Takes milliseconds: no weights are
 * read and no tokenizer is made. A blueprint may be used by several threads. */
ll_status ll_blueprint_open(const char *path, ll_blueprint **ret, ll_error *error);
void ll_blueprint_close(ll_blueprint *blueprint);
/* Counts adapters in: once, before anything else is asked. On failure the blueprint can only be closed. */
ll_status ll_blueprint_add_adapters(ll_blueprint *blueprint, const ll_adapter *adapters, size_t count,
                                    ll_error *error);
/* Without tokenizer and chat. */
ll_status ll_blueprint_get_info(const ll_blueprint *blueprint, ll_model_info *ret);
size_t ll_blueprint_type_count(const ll_blueprint *blueprint);
ll_status ll_blueprint_get_type(const ll_blueprint *blueprint, size_t index, ll_weight_type *ret);
void ll_need_options_init(ll_need_options *options);
ll_status ll_blueprint_need(const ll_blueprint *blueprint, const ll_need_options *options, ll_need *ret,
                            ll_error *error);
/* The largest context with these options that so many bytes hold, in whole KV blocks; 0: none. */
ll_status ll_blueprint_fit(const ll_blueprint *blueprint, const ll_need_options *options, uint64_t memory,
                           size_t *ret_context, ll_error *error);
/* The gpu_layers that a GPU of so much memory holds with these options: one more than there are: the whole
 * model; 0: none. */
ll_status ll_blueprint_fit_layers(const ll_blueprint *blueprint, const ll_need_options *options,
                                  uint64_t memory, int *ret_layers, ll_error *error);
/* Spreads the model over devices of memory[i] bytes each, filling one after the other. LL_NOMEM with what
 * is missing when they do not hold it. */
ll_status ll_blueprint_place(const ll_blueprint *blueprint, const ll_need_options *options,
                             const uint64_t *memory, size_t devices, ll_placement *ret, ll_error *error);

/* ---- text and tokens ------------------------------------------------------------------------ */

/* special: control tokens written in the text ("<|im_end|>") become those tokens. Leave it false for
 * anything a person or a document wrote. BOS is added by the model's own rule when add_start. */
ll_status ll_tokenize(const ll_model *model, const char *text, size_t length, bool special,
                      bool add_start, ll_token *out, size_t cap, size_t *ret_count, ll_error *error);
ll_status ll_detokenize(const ll_model *model, const ll_token *tokens, size_t count, char *out,
                        size_t cap, size_t *ret_length, ll_error *error);
/* The raw bytes of one token; they may be part of a character. NULL when out of range. */
const char *ll_token_text(const ll_model *model, ll_token token, size_t *ret_length);
bool ll_token_is_end(const ll_model *model, ll_token token); /* ends a turn or a text */

typedef struct ll_message { const char *role, *text; size_t length; } ll_message;
/* The chat template applied: text for reading, and the tokens a model is given. Message text is
 * tokenised as text, never as control tokens. LL_UNSUPPORTED when the template cannot be used. */
ll_status ll_chat_render(const ll_model *model, const ll_message *messages, size_t count,
                         bool open_answer, char *out, size_t cap, size_t *ret_length, ll_error *error);
ll_status ll_chat_tokens(const ll_model *model, const ll_message *messages, size_t count,
                         bool open_answer, ll_token *out, size_t cap, size_t *ret_count, ll_error *error);

/* ---- session -------------------------------------------------------------------------------- */

typedef struct ll_session_options {
    size_t size;
    size_t context;      /* tokens; 0: the model's trained context, lowered to what memory holds */
    ll_dtype cache_type; /* LL_F16 */
} ll_session_options;

typedef struct ll_session_stats {
    size_t position, cache_used, cache_capacity, cache_blocks; /* tokens, tokens, tokens, blocks */
    size_t reused;                    /* tokens of the last sync that needed no computing */
    size_t prefilled, decoded;        /* tokens computed since the session was opened     */
    double prefill_seconds, decode_seconds;
    uint64_t cache_bytes;
    size_t blocks_free, blocks_shared, block_tokens; /* of the KV cache; cache_blocks are in use    */
    uint64_t cache_used_bytes;        /* of the blocks in use                                       */
    double prefill_rate, decode_rate; /* tokens a second lately; 0: none yet                        */
    size_t window;           /* tokens that layers with a sliding window see; 0: no layer has one   */
    size_t reach;            /* tokens that the last step's farthest look went back                 */
    double reach_mean;       /* the mean over ALiBi's heads; 0: no ALiBi, or the device counts none */
    size_t drafted, kept;    /* tokens that lookup drafted since the session was opened, and that came true */
} ll_session_stats;

typedef struct ll_sampling {
    size_t size;
    float temperature;       /* 0: greedy */
    int top_k;               /* 0: off */
    float top_p, min_p;      /* 1 and 0: off */
    float repeat_penalty, presence_penalty, frequency_penalty; /* 1, 0, 0: off */
    int penalty_window;      /* last tokens looked at */
    uint64_t seed;
    int choices;             /* best alternatives reported with each token, 0 … 100 */
    bool ignore_end;         /* go on past end-of-turn tokens */
    const char *const *stop; /* stop strings; never shown */
    size_t stop_count;
    float typical_p;                      /* locally typical sampling; 1: off */
    float xtc_probability, xtc_threshold; /* exclude top choices; 0, 0.1: off */
    int mirostat;                         /* version 1 or 2; 0: off */
    float mirostat_tau, mirostat_eta;     /* wanted surprise in bits a token, and how fast it is corrected */
    float dry_multiplier, dry_base;       /* penalty: multiplier · base^(repeated tokens - length); 0: off */
    int dry_length;                       /* repetitions shorter than this go unpunished, 1 … */
    int dry_window;                       /* last tokens looked at; 0: all */
    const char *const *dry_breakers;      /* texts that end a repetition; none: newline, :, " and * */
    size_t dry_breaker_count;
    const char *const *bias; /* [bias_count] "TOKEN=NUMBER", added to its logit; -inf: never */
    size_t bias_count;
    const char *grammar, *grammar_file;         /* GBNF, as text or in a file; what comes is a text of it */
    const char *json_schema, *json_schema_file; /* what comes is a JSON document valid under it */
    bool lookup; /* draft from what was said before and verify many tokens a step: same bytes, sooner */
} ll_sampling;

typedef enum ll_finish {
    LL_FINISH_END,       /* the model ended its turn; with a grammar: the text is complete */
    LL_FINISH_LENGTH,    /* max_tokens reached         */
    LL_FINISH_STOP_TEXT, /* a stop string came         */
    LL_FINISH_CALLER,    /* on_token returned LL_STOP  */
    LL_FINISH_CANCELLED, /* the cancel flag was raised */
    LL_FINISH_CONTEXT    /* the context is full        */
} ll_finish;

void ll_session_options_init(ll_session_options *options);
void ll_sampling_init(ll_sampling *sampling);
/* The rules that this sampling asks for, in the order in which they are run: "penalties, top-k, draw". */
ll_status ll_sampling_order(const ll_sampling *sampling, char *out, size_t cap, size_t *ret_length,
                            ll_error *error); /* [any thread] */
ll_status ll_session_open(ll_model *model, const ll_session_options *options, ll_session **ret,
                          ll_error *error);
void ll_session_close(ll_session *session);
/* Makes the live state equal this full token list: keeps the longest common prefix, computes the
 * rest. LL_CONTEXT_FULL (both numbers in the text, state untouched) when it cannot fit. */
ll_status ll_session_sync(ll_session *session, const ll_token *tokens, size_t count, const ll_run *run,
                          ll_error *error);
ll_status ll_session_rewind(ll_session *session, size_t position);
/* Gives memory that holds nothing now back to the system: pages of free KV blocks, working space of
 * scoring. *ret_bytes: of the blocks. What the session knows stays. */
ll_status ll_session_trim(ll_session *session, uint64_t *ret_bytes, ll_error *error);
size_t ll_session_position(const ll_session *session);
const ll_token *ll_session_tokens(const ll_session *session, size_t *ret_count);
/* The distribution after the last token, [vocabulary] of fp32, before any sampling rule. NULL when
 * there is none: before the first sync, and after ll_generate, whose last token is on the timeline
 * but not yet computed (the next sync or ll_generate does that). */
const float *ll_session_logits(const ll_session *session, size_t *ret_count);
ll_status ll_session_get_stats(const ll_session *session, ll_session_stats *ret); /* [any thread] */
/* Writes the timeline with its keys and values to a file that only its owner can read, whole or not at all,
 * and bytes of the caller's own with it (NULL: none). The run's cancel flag is heard. */
ll_status ll_session_save(ll_session *session, const char *path, const void *attached,
                          size_t attached_bytes, const ll_run *run, ll_error *error);
/* Makes the session what it was when it was saved: the next sync computes nothing of it again, and logits are
 * the same. LL_UNSUPPORTED when another model, cache type or setting made the file, LL_CONTEXT_FULL when it
 * holds more tokens than the context, LL_FORMAT when it is damaged; the session is untouched then. */
ll_status ll_session_load(ll_session *session, const char *path, const ll_run *run, ll_error *error);
/* The caller's own bytes in such a file; no session is needed. */
ll_status ll_snapshot_attached(const char *path, char *out, size_t cap, size_t *ret_length, ll_error *error);
/* Continues the timeline. Generated tokens stay on it, the ending token included when it has one. A grammar
 * begins anew with each call; any finish but LL_FINISH_END has cut its text. LL_ARGUMENT, LL_UNSUPPORTED: it
 * is none, or cannot be kept. */
ll_status ll_generate(ll_session *session, const ll_sampling *sampling, size_t max_tokens,
                      const ll_run *run, ll_finish *ret, ll_error *error);
/* logprobs[i] of tokens[i] given all before it, i ≥ 1; logprobs[0] is 0. From an empty context, and leaves
 * the session empty (untouched when the tokens are refused). */
ll_status ll_session_score(ll_session *session, const ll_token *tokens, size_t count, float *logprobs,
                           const ll_run *run, ll_error *error);

/* ---- document ------------------------------------------------------------------------------- */

typedef struct ll_document_options {
    size_t size;
    const char *kind;     /* "text", "markdown", "pdf", "html" …; NULL: found out from the content */
    const char *encoding; /* iconv name; NULL: found out */
    size_t max_bytes;     /* of a file, and unpacked of archives; 0: 1 GiB; more is refused, never cut */
    const char *password; /* of a PDF; NULL: none */
    const char *ocr;      /* language ("eng", "deu+eng") in which pictures of pages are read; NULL: not */
} ll_document_options;

typedef struct ll_document_info {
    const char *title, *kind, *encoding;
    uint64_t bytes, source_bytes; /* of normalised UTF-8 text; of the files read */
    size_t files, pages, sections, paragraphs;
    size_t unread_pages;     /* pages without text (scans): named in notes */
    size_t skipped;          /* files and parts that could not be read: named in notes */
} ll_document_info;

typedef struct ll_file {
    const char *name, *label; /* as shown to a person; without the folders that all files have in common */
    const char *kind;
    uint64_t first_byte, last_byte; /* of the normalised text, last exclusive */
    uint64_t source_bytes;
    size_t pages;
} ll_file;

typedef struct ll_place { /* where a stretch of the document's text stands for a person */
    size_t file, first_page, last_page; /* index; pages 0: the file has none */
    const char *name, *label;           /* as in ll_file */
    uint64_t first_byte, last_byte;     /* within that file; last exclusive */
    bool in_file; /* false: the file's bytes are not known (PDF, DOCX, not UTF-8); they are its text's then */
} ll_place;

typedef struct ll_section {
    const char *title;
    int level; /* 1 is the highest */
    uint64_t first_byte, last_byte; /* of the normalised text, last exclusive */
    size_t first_page, last_page;   /* from 1; 0 when there are no pages */
} ll_section;

void ll_document_options_init(ll_document_options *options);
/* Reads all paths, in order, into one document; "-" is standard input, folders and archives give many files.
 * A path that cannot be read fails the call with LL_UNREADABLE, LL_NOT_FOUND or LL_IO and names it; what
 * cannot be read inside of a folder or an archive is skipped, counted and named in the notes. */
ll_status ll_document_open(const char *const *paths, size_t count, const ll_document_options *options,
                           const ll_run *run, ll_document **ret, ll_error *error);
ll_status ll_document_from_text(const char *text, size_t length, const ll_document_options *options,
                                ll_document **ret, ll_error *error);
/* All of them in one, in their order, as if their files had been opened together; they stay as they are. */
ll_status ll_document_join(const ll_document *const *parts, size_t count, ll_document **ret, ll_error *error);
void ll_document_close(ll_document *document);
ll_status ll_document_get_info(const ll_document *document, ll_document_info *ret);
ll_status ll_document_get_file(const ll_document *document, size_t file, ll_file *ret);
ll_status ll_document_get_section(const ll_document *document, size_t section, ll_section *ret);
/* Where in its file a byte of the text stands: exact where a line, record or piece of text begins, else
 * counted on from there; LL_NOT_FOUND when unknown (PDF, packed documents, text that was unpacked). */
ll_status ll_document_get_source(const ll_document *document, uint64_t byte, size_t *ret_file,
                                 uint64_t *ret_source_byte);
/* The member of a packed document (DOCX, ODT, EPUB, PPTX) that a byte of the text comes out of; LL_NOT_FOUND:
 * its file has none. Members of archives are files of their own. */
ll_status ll_document_get_part(const ll_document *document, uint64_t byte, const char **ret_name);
/* Of bytes [first, last) of the whole text, cut at the end of the first file; LL_NOT_FOUND past its end. */
ll_status ll_document_get_place(const ll_document *document, uint64_t first, uint64_t last, ll_place *ret);
const char *ll_document_text(const ll_document *document, size_t *ret_length);
size_t ll_document_note_count(const ll_document *document);               /* things a person must know */
const char *ll_document_note(const ll_document *document, size_t note);

/* ---- plan: look before you pay ---------------------------------------------------------------- */

typedef enum ll_method {
    LL_METHOD_AUTO,
    LL_METHOD_WHOLE,      /* one call: the document fits                                   */
    LL_METHOD_SELECT,     /* windows, then checked selection of sentences: small models    */
    LL_METHOD_TREE,       /* windows, then a tree of merges made by the model              */
    LL_METHOD_REFINE,     /* a running summary, window after window                        */
    LL_METHOD_EXTRACTIVE  /* key sentences; needs no model                                 */
} ll_method;

typedef struct ll_plan_options {
    size_t size;
    ll_method method;
    size_t context;        /* 0: the model's */
    size_t window_tokens;  /* 0: chosen by model size and context */
    size_t overlap_tokens; /* (size_t)-1: chosen */
    size_t summary_words;  /* wanted length of the answer; 0: 200 */
    const char *focus;     /* what the reader cares about; NULL: nothing special */
    const char *language;  /* to write in, by its English name; NULL: the document's */
} ll_plan_options;

typedef struct ll_plan_info {
    ll_method method;     /* never AUTO */
    const char *reason;   /* why this method, one sentence */
    size_t windows, levels, calls;
    uint64_t document_tokens, prompt_tokens; /* prompt_tokens: all calls together, upper bound */
    size_t window_tokens, overlap_tokens, context, part_tokens;
    uint64_t memory_bytes; /* KV of the windows that run together */
    uint64_t answer_tokens; /* all calls together, upper bound */
} ll_plan_info;

typedef struct ll_chunk {
    const char *text;
    size_t length, tokens, section;
    uint64_t first_byte, last_byte;
    size_t first_page, last_page;
} ll_chunk;

void ll_plan_options_init(ll_plan_options *options);
/* model may be NULL for LL_METHOD_EXTRACTIVE. The plan borrows both. */
ll_status ll_plan_make(const ll_document *document, const ll_model *model,
                       const ll_plan_options *options, const ll_run *run, ll_plan **ret,
                       ll_error *error);
void ll_plan_free(ll_plan *plan);
ll_status ll_plan_get_info(const ll_plan *plan, ll_plan_info *ret);
/* The time that all calls may take at most, told by timing a few short ones; 0 for a plan without calls. */
ll_status ll_plan_predict(const ll_plan *plan, ll_model *model, const ll_run *run, double *ret_seconds,
                          ll_error *error);
ll_status ll_plan_get_chunk(const ll_plan *plan, size_t chunk, ll_chunk *ret);

/* ---- summary --------------------------------------------------------------------------------- */

typedef struct ll_summary_options {
    size_t size;
    size_t width;         /* windows computed together; 0: chosen */
    ll_dtype cache_type;
    ll_sampling sampling; /* greedy by default */
    const char *journal;  /* file that keeps the model's answers, made when missing; NULL: none */
    uint64_t journal_limit; /* bytes; 0: 256 MiB */
} ll_summary_options;

typedef struct ll_coverage {
    uint64_t document_tokens, read_tokens; /* read_tokens: each once, overlaps not counted twice */
    uint64_t document_bytes, read_bytes;
    size_t windows, pages, unread_pages;
    double share; /* 0 … 1 of the document's bytes */
} ll_coverage;

typedef struct ll_summary_node {
    int level;      /* 0: a window's part; higher: merges; the root comes last */
    size_t parent;  /* node index; itself for the root */
    const char *title; /* heading path of the part, or NULL */
    const char *text;
    size_t length;
    bool quoted; /* every sentence is the document's own, or counted */
    uint64_t first_byte, last_byte;
    size_t first_page, last_page;
} ll_summary_node;

typedef struct ll_sentence { /* one sentence of the answer and what it rests on */
    const char *text;
    size_t length;
    size_t first_page, last_page; /* 0: the document has no pages */
    uint64_t first_byte, last_byte;
    float support;   /* share of content words found in the window it rests on */
    bool quoted, counted; /* the document's own words; counted from all lines of a log or rows of a table */
    bool line;       /* stands alone, as the lines of logs do, and is no sentence of a paragraph */
    bool supported;  /* false: too few of its words, or not all numbers and names, are there; shown marked */
    size_t window;   /* of the plan, from 0 */
    const char *file, *title; /* as it was named, "" for a text; of its section, NULL: there is none */
} ll_sentence;

typedef struct ll_summary_stats {
    size_t calls, reused; /* reused: of those, taken from the journal */
    size_t prompt_tokens, generated_tokens, looped, fallbacks;
    double seconds;
    const char *unkept; /* why the journal could not be used (the work went on without); NULL: it could */
} ll_summary_stats;

void ll_summary_options_init(ll_summary_options *options);
/* The summary borrows the plan's document, not the plan. model may be NULL for a plan that needs none. */
ll_status ll_summarize(ll_model *model, const ll_plan *plan, const ll_summary_options *options,
                       const ll_run *run, ll_summary **ret, ll_error *error);
void ll_summary_free(ll_summary *summary);
const char *ll_summary_text(const ll_summary *summary, size_t *ret_length);
ll_status ll_summary_get_coverage(const ll_summary *summary, ll_coverage *ret);
ll_status ll_summary_get_stats(const ll_summary *summary, ll_summary_stats *ret);
size_t ll_summary_node_count(const ll_summary *summary);
ll_status ll_summary_get_node(const ll_summary *summary, size_t node, ll_summary_node *ret);
size_t ll_summary_sentence_count(const ll_summary *summary);
ll_status ll_summary_get_sentence(const ll_summary *summary, size_t sentence, ll_sentence *ret);

/* ---- answers ---------------------------------------------------------------------------------- */

typedef struct ll_ask_options {
    size_t size;
    size_t windows;       /* best windows the model is asked about; 0: 4 */
    bool exhaustive;      /* ask about every window of the document */
    size_t width;         /* windows computed together; 0: chosen */
    ll_dtype cache_type;
    ll_sampling sampling; /* greedy by default */
    const char *journal;  /* as for summaries */
    uint64_t journal_limit;
} ll_ask_options;

typedef struct ll_answer_info {
    bool found;         /* false: not in the document; the text says so */
    bool generated;     /* the text is the model's own; else the first quote, or the cell asked for */
    const char *reason; /* how it was decided, one sentence */
    size_t passages, asked; /* windows the document has for this; of those, put before the model */
} ll_answer_info;

typedef struct ll_quote { /* word for word from the document */
    const char *text;
    size_t length;
    const char *file, *title; /* file: as it was named; title: heading path, or NULL */
    uint64_t first_byte, last_byte;
    size_t first_page, last_page; /* 0: the document has no pages */
    size_t window; /* place in the ranking, from 0 */
    float score;   /* 0 … 1: how much of the question it meets */
} ll_quote;

typedef struct ll_answer_window { /* one window of the ranking, best first */
    uint64_t first_byte, last_byte;
    size_t first_page, last_page;
    const char *file;
    float score;
    const char *reply; /* what the model said of it; NULL: not asked */
} ll_answer_window;

void ll_ask_options_init(ll_ask_options *options);
/* The answer borrows the document. model NULL: the sentences that fit best are quoted. Sentences that are in
 * the answer are in the document, word for word, or their numbers and names are; whether they answer rightly
 * is not proved. */
ll_status ll_ask(ll_model *model, const ll_document *document, const char *question,
                 const ll_ask_options *options, const ll_run *run, ll_answer **ret, ll_error *error);
void ll_answer_free(ll_answer *answer);
const char *ll_answer_text(const ll_answer *answer, size_t *ret_length);
ll_status ll_answer_get_info(const ll_answer *answer, ll_answer_info *ret);
ll_status ll_answer_get_stats(const ll_answer *answer, ll_summary_stats *ret);
size_t ll_answer_quote_count(const ll_answer *answer);
ll_status ll_answer_get_quote(const ll_answer *answer, size_t quote, ll_quote *ret);
size_t ll_answer_window_count(const ll_answer *answer);
ll_status ll_answer_get_window(const ll_answer *answer, size_t window, ll_answer_window *ret);

/* ---- the journal ------------------------------------------------------------------------------ */

typedef struct ll_journal_info {
    uint64_t answers, bytes; /* kept; of the file */
    double seconds;                /* of computing that the answers kept stand for */
    uint64_t oldest, newest;       /* last use, seconds since 1970; 0: empty */
    uint64_t windows;              /* whose keys and values are kept for the next question */
} ll_journal_info;

/* LL_NOT_FOUND when there is no such file. */
ll_status ll_journal_get_info(const char *path, ll_journal_info *ret, ll_error *error);
/* Drops windows, then the least lately used answers, until the file is at most `bytes` long; 0 drops all. */
ll_status ll_journal_prune(const char *path, uint64_t bytes, ll_error *error);

/* ---- the run log ------------------------------------------------------------------------------ */

/* A file of what runs took and needed: figures and names, never the text of a prompt or a document. A log is
 * used by one thread at a time; several processes may use one file. A process that is killed leaves a whole
 * file, and its run in it as cut. The newest 100,000 runs are kept. */
typedef struct ll_runlog ll_runlog;

typedef enum ll_run_state { LL_RUN_GOING, LL_RUN_ENDED, LL_RUN_CUT } ll_run_state;

typedef struct ll_runlog_options {
    size_t size;
    bool read_only; /* the file must exist: LL_NOT_FOUND; else it is made, for its owner only */
    int wait_ms;    /* for another process that writes; 0: 2,000 */
} ll_runlog_options;

typedef struct ll_runlog_entry { /* one run; counts of 0, empty names and NAN are unknown */
    size_t size;
    int64_t id;            /* from 1, in the order of beginning           } set by */
    ll_run_state state;    /*                                             } the    */
    int64_t began, ended;  /* milliseconds since 1970; ended 0: it did not } log    */
    char version[24];      /*                                             }        */
    char verb[16], end[24]; /* end: "done", "interrupted" …, how it ended */
    char model[128], identity[65], weights[32]; /* weights: the type of most of their bytes */
    char device[128], backend[32], kv[8];
    uint64_t context, windows, width; /* windows of documents, and how many side by side */
    uint64_t tokens_in, tokens_out;   /* computed and generated */
    uint64_t predicted[LL_COMPONENTS], peak[LL_COMPONENTS], resident_peak;
    double first_token_seconds, token_seconds, coverage; /* of the first answer; of one token; 0 … 1 */
    double joules; /* that the GPU drew meanwhile, other programs' work included */
} ll_runlog_entry;

typedef struct ll_runlog_filter {
    size_t size;
    const char *model; /* a part of its name, in any case; NULL: all */
    const char *verb;  /* NULL: all */
    int64_t since;     /* milliseconds since 1970 */
    int64_t id;        /* this one only; 0: all */
    size_t last;       /* the newest of those; 0: all */
} ll_runlog_filter;

typedef ll_flow (*ll_runlog_fn)(void *user, const ll_runlog_entry *entry);

void ll_runlog_options_init(ll_runlog_options *options);
void ll_runlog_entry_init(ll_runlog_entry *entry);
void ll_runlog_filter_init(ll_runlog_filter *filter);
/* LL_FORMAT: the file is damaged or another program's; LL_UNSUPPORTED: a newer longleaf's. It is left as it
 * is. */
ll_status ll_runlog_open(const char *path, const ll_runlog_options *options, ll_runlog **ret,
                         ll_error *error);
void ll_runlog_close(ll_runlog *log);
/* A run begins now in this process, with what is known of it so far. */
ll_status ll_runlog_begin(ll_runlog *log, const ll_runlog_entry *entry, int64_t *ret_id, ll_error *error);
/* What is known by now; with ended the run ends now. LL_NOT_FOUND: no such run. */
ll_status ll_runlog_update(ll_runlog *log, int64_t id, const ll_runlog_entry *entry, bool ended,
                           ll_error *error);
/* Each run that the filter leaves (NULL: all), oldest first, until `each` says stop. */
ll_status ll_runlog_query(ll_runlog *log, const ll_runlog_filter *filter, ll_runlog_fn each, void *user,
                          ll_error *error);

#ifdef __cplusplus
}
#endif
#endif
