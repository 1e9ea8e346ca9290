/** The client to which a request is charged. */
export interface ClientKey {
  /** The token, user or shared link, such as `token 7f3a`; for a client without one, its address. */
  readonly principal: string;
  /** The client's address, or its /64 if it is an IPv6 address. */
  readonly address: string;
}

export const anonymousClient = (address: string): ClientKey => ({ principal: address, address });

/** An anonymous client is identified by its address. Two addresses of one token are two clients that share the token's part. */
export const isAnonymousClient = ({ principal, address }: ClientKey): boolean =>
  principal === address;
