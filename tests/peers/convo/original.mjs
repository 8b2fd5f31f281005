// Runs the original implementation of Convo-Lang: reads requests from standard input, one JSON object a line, and
// answers each with one line on standard output. `tests/peers/convo/original.py` bundles and starts it.
import { createInterface } from 'node:readline';
import {
    BaseOpenAiConvoCompletionService,
    BaseOpenAiConvoConverter,
    Conversation,
    ConvoExecutionContext,
    ConvoNodeGraphCtrl,
    parseConvoCode,
} from 'convo-lang-original';

const TYPES = ['original-in', 'original-out'];
const answer = console.log.bind(console);
for (const level of ['log', 'info', 'warn', 'error', 'debug']) {
    console[level] = () => {}; // the answers alone go to standard output
}

/** Values as JSON: what JSON does not have becomes an object with the key `$`. */
const plain = (value, depth = 0) => {
    if (value === undefined) return { $: 'undefined' };
    if (typeof value === 'number' && !Number.isFinite(value)) return { $: String(value) };
    if (typeof value === 'function' || typeof value === 'symbol') return { $: 'type' };
    if (value === null || typeof value !== 'object') return value;
    if (depth > 20) return { $: 'deep' };
    if (Array.isArray(value)) return Array.from(value, item => plain(item, depth + 1));
    if (value._def || value.constructor?.name?.startsWith('Zod')) return { $: 'type' };
    const entries = Object.entries(value);
    if (entries.some(([name]) => name.startsWith('__'))) return { $: 'type' };
    return Object.fromEntries(
        entries.filter(([, item]) => item !== undefined).map(([name, item]) => [name, plain(item, depth + 1)]),
    );
};

const parse = text => {
    const read = parseConvoCode(text);
    if (read.error) throw new Error(read.error.message);
    return read.result ?? [];
};

const conversation = (text, url) => {
    const models = [{ name: 'm', isServiceDefault: true }];
    const service = new BaseOpenAiConvoCompletionService({
        serviceId: 'original', apiKey: 'k', apiBaseUrl: url, inputType: TYPES[0], outputType: TYPES[1], models,
        isFallback: true,
    });
    const converter = new BaseOpenAiConvoConverter({
        chatModel: 'm', supportedInputTypes: [TYPES[0]], supportedOutputTypes: [TYPES[1]], models,
    });
    return new Conversation({
        disableGraphSummary: true, disableAutoFlatten: true, completionService: service, converters: [converter],
        enableStreaming: false, initConvo: text,
    });
};

const DO = {
    read: ({ text }) => ({ messages: parse(text).length }),

    // The value of an expression.
    call: async ({ text }) => {
        const [{ fn }] = parse(`> do\n${text}`);
        const context = new ConvoExecutionContext({}, new Conversation({ disableAutoFlatten: true }));
        const { value, valuePromise } = context.executeFunction(fn, {});
        return { value: plain(valuePromise ? await valuePromise : value) };
    },

    // What each function of a text gives for the arguments that are listed.
    functions: async ({ text, calls }) => {
        // Nothing here asks a model or a host.
        const messages = parse(text);
        const own = conversation(text, 'http://127.0.0.1:9');
        const flat = await own.flattenAsync(undefined, { setCurrent: false }).catch(() => undefined);
        const values = [];
        for (const [name, args] of calls) {
            try {
                const context = flat?.exe ?? new ConvoExecutionContext({}, own);
                if (!flat) context.loadFunctions(messages);
                const { fn } = messages.find(message => message.fn?.name === name && !message.fn.call);
                values.push({ value: plain(await context.executeFunctionAsync(fn, args)) });
            } catch (error) {
                values.push({ error: String(error?.message ?? error) });
            }
        }
        return { values };
    },

    // The way through a graph: the nodes in order, and the output of the last one.
    run: async ({ text, url }) => {
        const controller = new ConvoNodeGraphCtrl({ convo: conversation(text, url) });
        const result = await controller.runAsync();
        if (!result.success) throw new Error(result.error);
        const steps = result.allResults ?? [];
        return { path: steps.map(step => step.nodeId), output: plain(steps.at(-1)?.output) };
    },
};

// What fails in the background belongs to no request.
process.on('unhandledRejection', () => {});
process.on('uncaughtException', () => {});

for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    let answered;
    try {
        const late = new Promise((_, reject) => setTimeout(() => reject(new Error('timed out')), request.limit ?? 20_000).unref());
        answered = await Promise.race([DO[request.do](request), late]);
    } catch (error) {
        answered = { error: String(error?.message ?? error) };
    }
    answer(JSON.stringify(answered));
}
process.exit(0);
