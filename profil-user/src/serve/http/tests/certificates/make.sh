#!/bin/sh -e
# Makes the certificates of the tests anew: a CA with a server and a client below it, and a stranger.
# Their keys guard nothing. Good for a hundred years.
key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key"; }
signed() {
    key "$1"
    openssl req -new -key "$1.key" -subj "/CN=$1" -out "$1.csr"
    printf '%s\n' "$2" > "$1.ext"
    openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -days 36500 -extfile "$1.ext" -out "$1.crt"
    rm "$1.csr" "$1.ext"
}
key ca
openssl req -x509 -new -key ca.key -subj /CN=ca -days 36500 -out ca.crt
signed server 'subjectAltName=IP:127.0.0.1,DNS:localhost'
signed client 'extendedKeyUsage=clientAuth'
key stranger
openssl req -x509 -new -key stranger.key -subj /CN=stranger -days 36500 -out stranger.crt
rm -f ca.key ca.srl
