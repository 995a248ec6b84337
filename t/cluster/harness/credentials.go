package harness

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"
)

const issuer = "https://kubernetes.default.svc"

// credentials are the files that the API server and its clients share: one CA for both directions, a serving
// certificate, and the key that signs service account tokens.
type credentials struct {
	dir    string
	ca     *x509.Certificate
	caKey  *ecdsa.PrivateKey
	caPEM  []byte
	saKey  *rsa.PrivateKey
	serial int64
}

func newCredentials(dir string) (*credentials, error) {
	c := &credentials{dir: dir}
	var err error
	if c.caKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	if c.saKey, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		return nil, err
	}
	template := c.template("test-ca")
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, c.caKey.Public(), c.caKey)
	if err != nil {
		return nil, err
	}
	if c.ca, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	c.caPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	serving := c.template("kube-apiserver")
	serving.DNSNames = []string{"localhost"}
	serving.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 2, 2), net.IPv6loopback}
	cert, key, err := c.issue(serving)
	if err != nil {
		return nil, err
	}
	saPEM := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(c.saKey)})
	for name, bytes := range map[string][]byte{"ca.crt": c.caPEM, "server.crt": cert, "server.key": key, "sa.key": saPEM} {
		if err := os.WriteFile(filepath.Join(dir, name), bytes, 0o600); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *credentials) template(name string, groups ...string) *x509.Certificate {
	c.serial++
	return &x509.Certificate{
		SerialNumber: big.NewInt(c.serial), Subject: pkix.Name{CommonName: name, Organization: groups},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

func (c *credentials) issue(template *x509.Certificate) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.ca, key.Public(), c.caKey)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), nil
}

// serviceAccountToken signs what the TokenRequest API would issue, good for a day.
// bound: "node" as of a pod that runs there, "secret" as of one that is valid while the secret exists; nil as of neither.
// id: its name in audit events.
func (c *credentials) serviceAccountToken(namespace, name, uid, id string, bound map[string]any) (string, error) {
	type M = map[string]any
	about := M{"namespace": namespace, "serviceaccount": M{"name": name, "uid": uid}}
	maps.Copy(about, bound)
	now := time.Now()
	header, _ := json.Marshal(M{"alg": "RS256", "kid": keyID(&c.saKey.PublicKey)})
	claims, err := json.Marshal(M{
		"iss": issuer, "aud": []string{issuer}, "sub": "system:serviceaccount:" + namespace + ":" + name,
		"iat": now.Add(-time.Minute).Unix(), "nbf": now.Add(-time.Minute).Unix(), "exp": now.Add(24 * time.Hour).Unix(),
		"jti": id, "kubernetes.io": about,
	})
	if err != nil {
		return "", err
	}
	enc := base64.RawURLEncoding
	signed := enc.EncodeToString(header) + "." + enc.EncodeToString(claims)
	digest := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, c.saKey, crypto.SHA256, digest[:])
	return signed + "." + enc.EncodeToString(signature), err
}

// keyID is how the API server names a verification key: the hash of its public part.
func keyID(key *rsa.PublicKey) string {
	der, _ := x509.MarshalPKIXPublicKey(key)
	sum := sha256.Sum256(der)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// User is one identity; the audit log tells users apart.
type User struct {
	Name, Group, Token string
}

func newUser(name, group string) User {
	bytes := make([]byte, 16)
	rand.Read(bytes)
	return User{Name: name, Group: group, Token: hex.EncodeToString(bytes)}
}

func (u User) tokenFileLine() string {
	if u.Group == "" {
		return fmt.Sprintf("%s,%s,%s\n", u.Token, u.Name, u.Name)
	}
	return fmt.Sprintf("%s,%s,%s,\"%s\"\n", u.Token, u.Name, u.Name, u.Group)
}

// kubeconfig writes a kubeconfig with one context for auth.
func (c *credentials) kubeconfig(path, server string, auth *api.AuthInfo) error {
	config := api.NewConfig()
	config.Clusters["test"] = &api.Cluster{Server: server, CertificateAuthorityData: c.caPEM}
	config.AuthInfos["test"] = auth
	config.Contexts["test"] = &api.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	return clientcmd.WriteToFile(*config, path)
}

func (c *credentials) restConfig(server string, u User) *rest.Config {
	return &rest.Config{
		Host: server, BearerToken: u.Token, QPS: -1, UserAgent: u.Name,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.caPEM},
		WrapTransport:   AskAgain,
	}
}
