// A certified OpenID provider on 127.0.0.1, for tests. Whoever signs in is who he says he is; groups follow the name.
//   node provider.mjs PORT REDIRECT_URI CLIENT_SECRET
import { Provider } from "oidc-provider";

const [port, redirectUri, secret] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const groupsOf = (name) => (name.startsWith("ann") ? ["kafka-sre", "staff"] : ["staff"]);

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "guardian",
      client_secret: secret,
      token_endpoint_auth_method: "client_secret_post",
      redirect_uris: [redirectUri],
      response_types: ["code"],
      grant_types: ["authorization_code", "refresh_token"],
    },
    {
      client_id: "guardian-cli",
      token_endpoint_auth_method: "none",
      application_type: "native",
      redirect_uris: [],
      response_types: [],
      grant_types: ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"],
    },
    {
      client_id: "another",
      token_endpoint_auth_method: "none",
      application_type: "native",
      redirect_uris: [],
      response_types: [],
      grant_types: ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"],
    },
  ],
  claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"], profile: ["name"] },
  conformIdTokenClaims: false,
  scopes: ["openid", "offline_access", "email", "profile", "groups"],
  features: { deviceFlow: { enabled: true }, devInteractions: { enabled: true } },
  pkce: { required: () => true },
  ttl: { IdToken: 40, DeviceCode: 120, AccessToken: 40 },
  findAccount: async (_, id) => ({
    accountId: id,
    claims: async () => ({
      sub: id,
      email: `${id}@Example.com`,
      email_verified: !id.startsWith("unverified"),
      groups: groupsOf(id),
      name: id,
    }),
  }),
});
provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));
