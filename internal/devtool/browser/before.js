// Collects the errors of a page from its start.
window.wrong = [];
window.addEventListener('error', e => window.wrong.push('error: ' + e.message));
window.addEventListener('securitypolicyviolation', e => window.wrong.push('tried to load ' + e.blockedURI));
for (const how of ['error', 'warn', 'log']) console[how] = (...text) => window.wrong.push(how + ': ' + text.join(' '));
