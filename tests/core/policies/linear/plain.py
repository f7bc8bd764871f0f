"""The published linear policies written down plainly, with an inverse in every round."""

import math

import numpy as np


class Plain:
    """All units so far, and the regressions of their rewards and risks."""

    def __init__(self, features, limits, ridge=1.0, norm=1.0, delta=0.05):
        self.z, self.limits = np.array(features, float), np.array(limits)
        self.ridge, self.norm = ridge, norm
        self.delta = delta / (1 + len(limits))
        self.d = self.z.shape[1]
        self.longest = np.linalg.norm(self.z, axis=1).max()
        # Of every quantity, the features and outcomes that are known.
        self.known = [([], []) for _ in range(1 + len(limits))]

    def learn(self, x, *outcome):
        for (features, values), value in zip(self.known, outcome, strict=True):
            if not math.isnan(value):
                features.append(x)
                values.append(value)

    def regression(self, j):
        """V, the coefficients, and how many outcomes there are."""
        x, y = np.reshape(self.known[j][0], (-1, self.d)), np.array(self.known[j][1])
        v = self.ridge * np.eye(self.d) + x.T @ x
        return v, np.linalg.inv(v) @ (x.T @ y), len(y)

    def bounds(self, j, beta, x):
        v, theta, _ = self.regression(j)
        return x @ theta + beta * np.sqrt(np.einsum("kd,de,ke->k", x, np.linalg.inv(v), x))

    def hoeffding(self, j, t):
        return math.sqrt(math.log(t if j == 0 else t * len(self.limits)) / 2)

    def by_determinant(self, j, t):
        v, _, _ = self.regression(j)
        grown = np.linalg.slogdet(v)[1] - self.d * math.log(self.ridge)
        return math.sqrt(self.ridge) * self.norm + math.sqrt(0.5 * math.log(1 / self.delta) + 0.25 * grown)

    def by_dimension(self, j, t):
        n = self.regression(j)[2]
        level = max(2, self.d) * math.log((1 + n * self.longest**2 / self.ridge) / self.delta)
        return math.sqrt(self.ridge) * self.norm + 0.5 * math.sqrt(level)

    def risks(self, sign, beta, t, x):
        """A bound of every risk (columns) of every arm, below or above the prediction."""
        return np.array([self.bounds(j, sign * beta(j, t), x) for j in range(1, 1 + len(self.limits))]).T

    def within(self, risks):
        return (risks <= self.limits).all(axis=1)

    def drawn(self, j, scale, noise):
        """Coefficients by a noise: V = L L', and L'^-1 has the square V^-1."""
        v, theta, _ = self.regression(j)
        return theta + scale * np.linalg.solve(np.linalg.cholesky(v).T, noise)

    # What each decision sees: which arms are permissible, their reward indices, and their risk indices.
    def linear(self, t, x, noises):
        risks = self.risks(-1, self.hoeffding, t, x)
        return self.within(risks), self.bounds(0, self.hoeffding(0, t), x), risks

    def doss(self, t, x, noises):
        risks = self.risks(-1, self.by_determinant, t, x)
        return self.within(risks), self.bounds(0, self.by_determinant(0, t), x), risks

    def safe_lucb(self, t, x, noises):
        risks = self.risks(1, self.by_dimension, t, x)
        safe = self.within(risks)
        safe[0] = True
        return safe, self.bounds(0, self.by_dimension(0, t), x), risks

    def safe_lts(self, t, x, noises):
        risks = self.risks(1, self.by_dimension, t, x)
        safe = self.within(risks)
        safe[0] = True
        inflation = 1 + 2 * self.longest * self.norm / self.limits.min()
        return safe, x @ self.drawn(0, inflation * self.by_dimension(0, t), next(noises)), risks

    def colts(self, t, x, noises, draws=3):
        safe, best = np.zeros(len(x), bool), np.full(len(x), -np.inf)
        shown, nearest = np.full((len(x), len(self.limits)), np.nan), np.full(len(x), np.inf)
        for _ in range(draws):
            noise = next(noises)
            reward = x @ self.drawn(0, self.by_determinant(0, t), noise)
            each = range(1, 1 + len(self.limits))
            risks = np.array([x @ self.drawn(j, -self.by_determinant(j, t), noise) for j in each]).T
            excess = (risks - self.limits).max(axis=1)
            for k in range(len(x)):
                if excess[k] <= 0 and reward[k] > best[k]:
                    safe[k], best[k], shown[k] = True, reward[k], risks[k]
                elif not safe[k] and excess[k] < nearest[k]:
                    nearest[k], shown[k] = excess[k], risks[k]
        return safe, best, shown
