// A real identity provider on loopback, for tests: oidc-provider, with a form that asks for nothing but a name.
// Arguments: the folder of the packages, the address that people are led back to. It prints its issuer once it listens.
import http from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, redirect] = process.argv.slice(2);
const found = createRequire(`${folder}/`).resolve("oidc-provider");
const { default: Provider } = await import(pathToFileURL(found).href);

const PEOPLE = {
  ada: { email: "ada@example.org", email_verified: true, name: "Ada Lovelace", groups: ["chiefs"] },
  bea: { email: "bea@example.org", email_verified: true, name: "Bea", groups: ["chiefs"] },
  eve: { email: "ada@example.org", email_verified: false, name: "Eve", groups: [] },
};

const server = http.createServer();
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "safebandit",
      client_secret: "a secret of the tests",
      redirect_uris: [redirect],
      grant_types: ["authorization_code"],
      response_types: ["code"],
    },
  ],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups"] },
  features: { devInteractions: { enabled: false } },
  pkce: { required: () => true },
  cookies: { keys: ["of the tests"] },
  interactions: { url: (_, interaction) => `/enter/${interaction.uid}` },
  async findAccount(_, id) {
    return { accountId: id, claims: async () => ({ sub: id, ...PEOPLE[id] }) };
  },
});

async function enter(request, response) {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (prompt.name === "login") {
    const name = new URL(request.url, issuer).searchParams.get("name");
    if (name === null) {
      response.setHeader("content-type", "text/html");
      response.end(`<title>Provider</title><form><label>Name <input name="name"></label><button>Enter</button></form>`);
      return;
    }
    await provider.interactionFinished(request, response, { login: { accountId: name } });
    return;
  }
  const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}

const answer = provider.callback();
server.on("request", (request, response) => {
  if (request.url.startsWith("/enter/")) {
    enter(request, response).catch((problem) => {
      response.statusCode = 500;
      response.end(String(problem));
    });
  } else answer(request, response);
});
console.log(issuer);
// It ends with whoever started it.
process.stdin.on("end", () => process.exit(0)).resume();
